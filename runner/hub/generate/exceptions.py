"""Model types whose tiny shape the names of their fields do not tell, a row each.

Not here: the rules for all others (shapes.py).
"""

# Arguments without which the class's default cannot be made.
REQUIRED = {
    "phi4_multimodal": {"vision_config": {}, "audio_config": {}},
}

_SERIES = {"prediction_length": 4, "context_length": 8, "lags_sequence": [1, 2], "num_time_features": 1}


def _translation(language):
    return {"early_stopping": True, "max_length": 300, "num_beams": 4, "prefix": f"translate English to {language}: "}


# Pipelines take the languages and the prefix of T5's first checkpoints from here.
_T5_TASKS = {
    "summarization": {"early_stopping": True, "length_penalty": 2.0, "max_length": 200, "min_length": 30,
                      "no_repeat_ngram_size": 3, "num_beams": 4, "prefix": "summarize: "},
    "translation_en_to_de": _translation("German"),
    "translation_en_to_fr": _translation("French"),
    "translation_en_to_ro": _translation("Romanian"),
}  # fmt: skip

# Fields of the whole config.
EXCEPTIONS = {
    "autoformer": _SERIES,
    "informer": _SERIES,
    "time_series_transformer": _SERIES,
    "beit": {"num_hidden_layers": 4, "out_features": ["stage1", "stage2", "stage3", "stage4"]},
    "data2vec-vision": {"num_hidden_layers": 4, "out_features": ["stage1", "stage2", "stage3", "stage4"]},
    "bit": {"num_groups": 1},
    "bridgetower": {"hidden_size": 64},
    "detr": {"encoder_attention_heads": 8, "decoder_attention_heads": 8},
    "blt": {"encoder_hash_byte_group_vocab": 500},
    "chameleon": {"vocabulary_map": {"<image>": 3, "IMGIMGA": 4, "IMGIMGB": 5}},
    "emu3": {"vocabulary_map": {"<image>": 3, "<|visual token 0|>": 4, "<|visual token 1|>": 5}},
    "cvt": {"depth": [1, 2, 3]},  # a block reads the rate of its stage's number
    "dots1": {"n_routed_experts": 4, "num_experts_per_tok": 2, "n_shared_experts": 1},
    "encodec": {"codebook_dim": 32},  # its hidden_size
    "efficientnet": {"width_coefficient": 0.25, "depth_coefficient": 0.25, "hidden_dim": 320},
    "granitemoehybrid": {"layer_types": ["mamba", "attention"]},
    "lfm2_moe": {"layer_types": ["conv", "full_attention"], "num_dense_layers": 1},
    "nemotron": {"num_key_value_heads": 2},
    "t5": {"task_specific_params": _T5_TASKS},
    "tapas": {"num_aggregation_labels": 4, "average_logits_per_cell": False,
              "aggregation_labels": {0: "NONE", 1: "SUM", 2: "AVERAGE", 3: "COUNT"}, "no_aggregation_label_index": 0},
    "superglue": {"keypoint_encoder_sizes": [16, 32], "gnn_layers_types": ["self", "cross"]},
    "vit": {"image_size": 30, "patch_size": 2},  # tests count its 226 places
    "vjepa2": {"pred_hidden_size": 32, "pred_num_attention_heads": 4, "pred_num_hidden_layers": 2, "crop_size": 32},
    "efficientloftr": {"hidden_size": 64, "out_features": [16, 16, 32, 64]},
    "gemma3n_text": {"num_hidden_layers": 4, "num_kv_shared_layers": 1, "activation_sparsity_pattern": None,
                     "layer_types": ["full_attention", "sliding_attention"] * 2, "intermediate_size": 64},
    "gpt_neo": {"attention_types": [[["global", "local"], 1]]},
    "hiera": {"decoder_hidden_size": 32, "decoder_depth": 1, "decoder_num_heads": 4},
    "mamba2": {"num_heads": 8, "head_dim": 8},
    "perceiver": {"num_cross_attention_heads": 1, "num_self_attention_heads": 4},
    "reformer": {"axial_pos_embds_dim": [8, 24], "axial_pos_shape": [16, 32], "max_position_embeddings": 512},
    "zamba": {"num_hidden_layers": 6, "layers_block_type": ["mamba", "mamba", "hybrid", "mamba", "hybrid", "mamba"]},
}

# Fields of a sub-config: (model type of the whole, name of the field) → fields.
SUB_EXCEPTIONS = {
    ("bridgetower", "text_config"): {"hidden_size": 64},
    ("bridgetower", "vision_config"): {"hidden_size": 64},
    ("align", "vision_config"): {"width_coefficient": 0.25, "depth_coefficient": 0.25, "hidden_dim": 320},
    ("dbrx", "attn_config"): {"rope_theta": 10000.0},
    ("ernie4_5_vl_moe", "text_config"): {"head_dim": 128},  # sections of 22, 22 and 20
    ("llama4", "vision_config"): {"rope_theta": 10000.0},
    ("qwen3_omni_moe_talker", "text_config"): {"shared_expert_intermediate_size": 64},
}
