"""Public families of models whose names do not spell the type that transformers gives them.

Not here: types that a name spells (names.py).
"""

# A word of a repository's name, squashed to letters and digits → model type.
FAMILIES = {
    "distilgpt2": "gpt2", "dialogpt": "gpt2", "gptneo": "gpt_neo", "gpt3": "gpt2", "kogpt2": "gpt2",
    "vicuna": "llama", "tinyllama": "llama", "codellama": "llama", "smollm": "llama", "openllama": "llama",
    "alpaca": "llama", "deepseekcoder": "llama", "deepseekr1distillqwen": "qwen2", "yi": "llama",
    "zephyr": "mistral", "devstral": "mistral", "mathstral": "mistral", "nemo": "mistral",
    "qwen15": "qwen2", "qwen1": "qwen2", "qwen25": "qwen2", "qwen2": "qwen2", "qwen3": "qwen3", "qwen": "qwen2",
    "qwq": "qwen2", "embeddinggemma": "gemma3_text", "gemma2": "gemma2", "gemma3": "gemma3_text", "phi2": "phi", "phi15": "phi", "phi4": "phi3",
    "pythia": "gpt_neox", "dolly": "gpt_neox", "stablelmbasealpha": "gpt_neox", "redpajama": "gpt_neox",
    "gptj": "gptj", "gpt4": "gpt2", "bloomz": "bloom", "bloomy": "bloom", "galactica": "opt",
    "starcoder2": "starcoder2", "starcoder": "gpt_bigcode", "santacoder": "gpt_bigcode", "bigcode": "gpt_bigcode",
    "flant5": "t5", "t0": "t5", "mt0": "mt5", "byt5": "t5", "codet5": "t5", "flanul2": "t5", "ul2": "t5",
    "tglobal": "longt5", "opusmt": "marian", "distilbart": "bart", "bartlarge": "bart", "mbart": "mbart",
    "nllb200": "m2m_100", "wmt19": "fsmt", "indicbart": "mbart", "dbmdz": "bert", "biobert": "bert", "scibert": "bert",
    "clinicalbert": "bert", "finbert": "bert", "kobert": "bert", "legalbert": "bert", "tinybert": "bert",
    "sbert": "bert", "minilm": "bert", "bge": "bert", "e5": "bert", "gte": "bert", "sapbert": "bert",
    "distilroberta": "roberta", "codebert": "roberta", "graphcodebert": "roberta", "twitterroberta": "roberta",
    "bertweet": "roberta", "phobert": "roberta", "xlmr": "xlm-roberta", "multilinguale5": "xlm-roberta",
    "xlmroberta": "xlm-roberta", "distilusebasemultilingual": "distilbert", "debertav3": "deberta-v2",
    "splade": "bert", "contriever": "bert", "allmpnet": "mpnet", "specter": "bert", "labse": "bert",
    "tapex": "bart", "wmt": "fsmt", "unifiedqa": "t5", "dino": "vit", "deitbase": "deit", "xlsr": "wav2vec2",
    "wav2vec2bert": "wav2vec2-bert", "w2vbert": "wav2vec2-bert", "mms1b": "wav2vec2", "mmstts": "vits",
    "distilwhisper": "whisper", "distillarge": "whisper", "tabletransformer": "table-transformer",
    "donut": "vision-encoder-decoder", "trocr": "vision-encoder-decoder", "nougat": "vision-encoder-decoder",
    "vitgpt2": "vision-encoder-decoder", "blip2": "blip-2", "llava15": "llava", "llavav16": "llava_next",
    "idefics29b": "idefics2", "smolvlm2": "smolvlm", "siglip2": "siglip2", "mamba28b": "mamba", "mamba130m": "mamba",
    "mixtral": "mixtral", "jamba": "jamba", "dbrx": "dbrx", "falcon": "falcon", "mpt": "mpt", "rwkv": "rwkv",
    "colpali": "colpali", "ssd": "yolos", "zoedepth": "zoedepth", "dptlarge": "dpt", "midas": "dpt",
    "layoutlm": "layoutlm", "protbert": "bert", "esm2": "esm", "esmfold": "esm", "cxmefzzi": "distilbert",
}  # fmt: skip

# Where nothing else tells: the type for an Auto class or a task.
AUTO_DEFAULTS = {
    "AutoModelForCausalLM": "llama",
    "AutoModelForSeq2SeqLM": "t5",
    "AutoModelForMaskedLM": "bert",
    "AutoModelForSequenceClassification": "distilbert",
    "AutoModelForTokenClassification": "bert",
    "AutoModelForQuestionAnswering": "distilbert",
    "AutoModelForImageClassification": "vit",
    "AutoModelForSpeechSeq2Seq": "whisper",
    "AutoModelForCTC": "wav2vec2",
    "AutoModelForAudioClassification": "wav2vec2",
    "AutoModelForVision2Seq": "vision-encoder-decoder",
    "AutoModelForImageTextToText": "llava",
    "AutoImageProcessor": "vit",
    "AutoFeatureExtractor": "wav2vec2",
    "AutoTokenizer": "bert",
    "AutoModel": "bert",
    "AutoConfig": "bert",
    "AutoPeftModelForCausalLM": "llama",
    "AutoPeftModelForSeq2SeqLM": "t5",
    "SentenceTransformer": "bert",
    "SetFitModel": "bert",
    "CrossEncoder": "bert",
    "SparseEncoder": "bert",
    "PreTrainedTokenizerFast": "bert",
}

TASK_DEFAULTS = {
    "text-classification": "distilbert", "sentiment-analysis": "distilbert", "ner": "bert",
    "token-classification": "bert", "question-answering": "distilbert", "fill-mask": "bert",
    "feature-extraction": "distilbert", "text-generation": "gpt2", "summarization": "bart",
    "translation": "t5", "text2text-generation": "t5", "zero-shot-classification": "bart",
    "conversational": "gpt2", "image-classification": "vit", "image-feature-extraction": "vit",
    "object-detection": "yolos", "image-segmentation": "segformer", "depth-estimation": "dpt",
    "audio-classification": "wav2vec2", "automatic-speech-recognition": "wav2vec2", "text-to-audio": "vits",
    "text-to-speech": "vits", "image-to-text": "vision-encoder-decoder", "image-text-to-text": "llava",
    "visual-question-answering": "vilt", "document-question-answering": "layoutlm",
    "zero-shot-image-classification": "clip", "zero-shot-object-detection": "owlvit",
    "zero-shot-audio-classification": "clap", "video-classification": "videomae", "mask-generation": "sam",
    "table-question-answering": "tapas", "image-to-image": "swin2sr", "keypoint-matching": "superglue",
}  # fmt: skip

# A word of the name → the head that such a fine-tuned model has.
NAME_HEADS = {
    "sst2": "SequenceClassification", "mnli": "SequenceClassification", "sentiment": "SequenceClassification",
    "emotion": "SequenceClassification", "mrpc": "SequenceClassification", "imdb": "SequenceClassification",
    "crossencoder": "SequenceClassification", "reranker": "SequenceClassification", "nli": "SequenceClassification",
    "msmarco": "SequenceClassification", "toxic": "SequenceClassification", "stsb": "SequenceClassification",
    "squad": "QuestionAnswering", "conll": "TokenClassification", "ner": "TokenClassification",
    "960h": "CTC", "100h": "CTC", "ctc": "CTC", "superbks": "SequenceClassification", "ks": "SequenceClassification",
    "ade": "SemanticSegmentation", "cityscapes": "SemanticSegmentation", "coco": "ObjectDetection",
    "kinetics": "VideoClassification", "vqa": "QuestionAnswering", "wtq": "QuestionAnswering",
    "reward": "SequenceClassification", "tokenclassification": "TokenClassification",
    "sequenceclassification": "SequenceClassification", "questionanswering": "QuestionAnswering",
}  # fmt: skip
