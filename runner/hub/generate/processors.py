"""Image processors, feature extractors, video processors and processors, in a model's sizes.

A class is made with its defaults first; what it then says of itself is fitted to the config. Not here:
tokenizers (tokens.py).
"""

import importlib
import inspect
import json

from . import sizes, tokens
from .text import chat_template, special_tokens

SMALL = 64  # pixels of a side where the config names no size: divisible by what most convolutions halve
# The table of transformers for each kind: its module, its name.
TABLES = {
    "image_processor": ("image_processing_auto", "IMAGE_PROCESSOR_MAPPING_NAMES"),
    "feature_extractor": ("feature_extraction_auto", "FEATURE_EXTRACTOR_MAPPING_NAMES"),
    "video_processor": ("video_processing_auto", "VIDEO_PROCESSOR_MAPPING_NAMES"),
    "processor": ("processing_auto", "PROCESSOR_MAPPING_NAMES"),
}
FILES = {"image_processor": "preprocessor_config.json", "feature_extractor": "preprocessor_config.json",
         "video_processor": "video_preprocessor_config.json"}


def make_processor(model_type, folder, config, facts):
    """Writes what belongs to `model_type` beside its config and tokenizer. `facts`: as
    make_tokenizer returned them, or None. Returns the names of the classes written."""
    kept, made = {}, {}
    combined = class_of("processor", model_type, config)
    for kind, file in FILES.items():
        instance = make_part(kind, model_type, config, folder)
        if instance is None:
            continue
        made[kind] = instance
        if kind == "image_processor" and "image_seq_length" in special_tokens.source_of_class(combined):
            instance.image_seq_length = pooled_patches(config)  # which such a processor asks it for
        instance.save_pretrained(folder)
        settings = json.loads((folder / file).read_text(encoding="utf-8"))
        kept[file] = {**kept.get(file, {}), **settings}
    for file, settings in kept.items():
        write(folder / file, settings)
    processor = make_combined(combined, folder, config, made)
    if processor is not None:
        save_combined(processor, folder, kept)
        made["processor"] = processor
    return [type(instance).__name__ for instance in made.values()]


def write(path, settings):
    path.write_text(json.dumps(settings, ensure_ascii=False, indent=2, sort_keys=True) + "\n", encoding="utf-8")


def table(kind):
    module, name = TABLES[kind]
    try:
        return getattr(importlib.import_module(f"transformers.models.auto.{module}"), name)
    except ImportError:  # a kind that this release does not have
        return {}


def types_of(model_type, config):
    """The type and those of its parts: some, as encoder-decoders, are known only by these."""
    own = [getattr(part, "model_type", "") for part in sizes.parts(config)] if config is not None else []
    return list(dict.fromkeys([model_type, *own]))


def class_of(kind, model_type, config):
    """The first class that is mapped and whose packages are installed; its slow form first."""
    names = table(kind)
    for each in types_of(model_type, config):
        mapped = names.get(each)
        if isinstance(mapped, dict):  # a class for each package that draws; the one that needs least first
            mapped = tuple(reversed(mapped.values()))
        for name in mapped if isinstance(mapped, (tuple, list)) else (mapped,):
            cls = special_tokens.class_of_transformers(name)
            if cls is not None:
                return cls
        if mapped is not None:
            return None
    return None


def make_part(kind, model_type, config, folder):
    """The first of some forms that takes a picture, where one does."""
    cls = class_of(kind, model_type, config)
    if cls is None:
        return None
    first = None
    for form in FORMS[kind]:
        try:
            instance = cls(**form(cls, config, folder))
        except Exception as error:  # needs a package, or arguments that only a real repository has
            print(f"no {kind} for {model_type}: {type(error).__name__}: {error}")
            continue
        first = first or instance
        if kind != "image_processor" or takes_picture(instance):
            return instance
    return first


def takes_picture(instance):
    from PIL import Image

    try:
        instance(images=Image.new("RGB", (96, 80), (90, 120, 200)))
        return True
    except Exception:
        return False


def needed(cls, config, folder):
    """Arguments without which some classes cannot be made."""
    parameters, found = inspect.signature(cls.__init__).parameters, {}
    if "clusters" in parameters:  # colours that ImageGPT writes pictures in
        number = (sizes.number(config, "vocab_size") or 513) - 1
        found["clusters"] = [[round(2 * (n * step % number) / number - 1, 4) for step in (1, 7, 49)] for n in range(number)]
    if "class_info_file" in parameters:  # OneFormer's classes: from a data set where no folder has them
        names = {str(n): {"isthing": n % 2, "name": f"class {n}"} for n in range(8)}
        write(folder / "ade20k_panoptic.json", names)
        found |= {"class_info_file": "ade20k_panoptic.json", "repo_path": str(folder)}
    return found


def form_fitted(fit):
    return lambda cls, config, folder: {**(own := needed(cls, config, folder)), **fit(cls(**own), config)}


def form_square(cls, config, folder):
    """For a class whose default names one edge while its code reads height and width."""
    own = form_fitted(fit_pictures)(cls, config, folder)
    side = sizes.number(config, "image_size") or SMALL
    return own | {name: {"height": side, "width": side} for name in ("size", "crop_size") if name in own}


def form_plain(cls, config, folder):
    return needed(cls, config, folder)


def fit_pictures(plain, config):
    """Sizes of pictures and of patches."""
    own = plain.to_dict()
    side = sizes.number(config, "image_size", "img_size", "input_size")
    arguments = {}
    for name in ("size", "crop_size", "pad_size"):
        if isinstance(own.get(name), dict):
            arguments[name] = fitted_size(own[name], side)
        elif isinstance(own.get(name), int) and not isinstance(own.get(name), bool):
            arguments[name] = side or SMALL
    for name, others in {"patch_size": ("patch_size",), "temporal_patch_size": ("temporal_patch_size",),
                         "merge_size": ("spatial_merge_size",), "num_frames": ("num_frames",),
                         "max_image_size": ("image_size",), "max_num_visual_tokens": ("max_num_visual_tokens",)}.items():
        value = sizes.number(config, *others)
        if own.get(name) is not None and value is not None:
            is_sized = isinstance(own[name], dict)
            arguments[name] = {key: value for key in own[name]} if is_sized else value
    if own.get("min_pixels") is not None and own.get("max_pixels") is not None:
        unit = arguments.get("patch_size", 14) * arguments.get("merge_size", 2)
        arguments |= {"min_pixels": unit * unit, "max_pixels": unit * unit * 16}
    return accepted(type(plain), arguments)


def fitted_size(size, side):
    """The same keys. An upper bound without a size of the config is twice the small side."""
    found = {key: side or SMALL for key in size if size[key] is not None}
    if {"shortest_edge", "longest_edge"} <= set(found):
        if size["longest_edge"] > 4096:  # numbers of pixels, not sides
            return {"shortest_edge": SMALL * SMALL // 4, "longest_edge": SMALL * SMALL}
        found["longest_edge"] = 2 * found["shortest_edge"] if size["longest_edge"] > size["shortest_edge"] else found["shortest_edge"]
    return found


def fit_sounds(plain, config):
    """Rate, number of bands and length."""
    own, arguments = plain.to_dict(), {}
    rate = sizes.number(config, "sampling_rate", "sample_rate")
    if rate and "sampling_rate" in own:
        arguments["sampling_rate"] = rate
    bands = sizes.number(config, "num_mel_bins", "n_mels", "input_feat_per_channel", "input_channels")
    for name in ("num_mel_bins", "feature_size"):
        if bands and isinstance(own.get(name), int) and own[name] > 2:
            arguments[name] = bands
    channels = sizes.number(config, "audio_channels")
    if channels and own.get("feature_size") in (1, 2):
        arguments["feature_size"] = channels
    longest = sizes.number(config, "max_source_positions")
    if longest and "chunk_length" in own and "hop_length" in own:
        arguments |= frames_of(longest, own)
    if isinstance(own.get("max_length"), int) and (length := sizes.number(config, "max_length")) and "num_mel_bins" in own:
        arguments["max_length"] = length
    return accepted(type(plain), arguments)


def frames_of(positions, own):
    """A length in which the encoder has two frames for each of its positions."""
    rate, hop = own.get("sampling_rate", 16000), own["hop_length"]
    seconds = positions * 2 * hop / rate
    if seconds == int(seconds):
        return {"chunk_length": int(seconds)}
    samples = own["chunk_length"] * rate
    return {"hop_length": samples // (2 * positions)} if samples % (2 * positions) == 0 else {}


def accepted(cls, arguments):
    """Those that the constructor takes, or all where it takes any."""
    parameters = inspect.signature(cls.__init__).parameters
    takes_all = any(parameter.kind is parameter.VAR_KEYWORD for parameter in parameters.values())
    return arguments if takes_all else {name: value for name, value in arguments.items() if name in parameters}


FORMS = {
    "image_processor": (form_fitted(fit_pictures), form_square, form_plain),
    "video_processor": (form_fitted(fit_pictures), form_plain),
    "feature_extractor": (form_fitted(fit_sounds), form_plain),
}


def make_combined(cls, folder, config, made):
    if cls is None:
        return None
    try:
        processor = cls(**combined_arguments(cls, folder, config, made))
    except Exception as error:
        print(f"no {cls.__name__}: {type(error).__name__}: {error}")
        return None
    if getattr(processor, "chat_template", None):
        processor.chat_template = processor.tokenizer.chat_template = chat_template.for_processor(processor)
    return processor


def combined_arguments(cls, folder, config, made):
    """A part for each argument named as one, then what the config or the parts decide."""
    from transformers import AutoTokenizer

    arguments, tokenizer = {}, None
    parameters = inspect.signature(cls.__init__).parameters
    names = [*(getattr(cls, "attributes", None) or ()), *parameters]
    for name in dict.fromkeys(names):
        kind = ALIASES.get(name, name)
        if kind in made:
            arguments[name] = made[kind]
        elif name in OTHER_TOKENIZERS and tokens.make_tokenizer(OTHER_TOKENIZERS[name], subfolder(folder, name), {}):
            arguments[name] = AutoTokenizer.from_pretrained(folder / name)
        elif name == "tokenizer" and (folder / "tokenizer_config.json").exists():
            tokenizer = arguments[name] = AutoTokenizer.from_pretrained(folder)
        elif name in COUNTS and (value := COUNTS[name](config)) is not None:
            arguments[name] = value
    if tokenizer is not None and "chat_template" in parameters:
        arguments["chat_template"] = getattr(tokenizer, "chat_template", None) or chat_template.for_tokenizer(tokenizer)
    return arguments


ALIASES = {"audio_processor": "feature_extractor"}
# Tokenizers beside the first one, in folders of their own: the type whose class each is.
OTHER_TOKENIZERS = {"qformer_tokenizer": "bert", "protein_tokenizer": "esm"}


def subfolder(folder, name):
    (folder / name).mkdir(exist_ok=True)
    return folder / name


def pooled_patches(config):
    """Patches that reach the language model."""
    count = sizes.patches(config)
    factor = sizes.number(config, "scale_factor", "spatial_merge_size") or 1
    return sizes.number(config, "image_seq_length", "mm_tokens_per_image") or (count // factor ** 2 if count else None)


COUNTS = {
    "patch_size": lambda config: sizes.number(config, "patch_size"),
    "vision_feature_select_strategy": lambda config: sizes.first(config, "vision_feature_select_strategy"),
    "spatial_merge_size": lambda config: sizes.number(config, "spatial_merge_size"),
    "num_image_tokens": lambda config: sizes.patches(config),
    "num_query_tokens": lambda config: sizes.number(config, "num_query_tokens"),
    "image_seq_len": pooled_patches,
    "image_seq_length": pooled_patches,
    "downsample_factor": lambda config: sizes.number(config, "downsample_factor"),
    # CLIP has a token for the whole picture before those of its patches, others have none.
    "num_additional_image_tokens": lambda config: int("clip" in getattr(getattr(config, "vision_config", None), "model_type", "")),
}


def save_combined(processor, folder, kept):
    """As the release saves it. Files of parts stay beside it: readers of one part alone ask for these."""
    processor.save_pretrained(folder)
    for file, settings in kept.items():
        path = folder / file
        now = json.loads(path.read_text(encoding="utf-8")) if path.exists() else {}
        write(path, {**settings, **now, "processor_class": type(processor).__name__})
    clean(folder)


def clean(folder):
    """Removes paths of this machine."""
    for path in [*folder.glob("*processor_config.json"), *folder.rglob("tokenizer_config.json")]:
        settings = json.loads(path.read_text(encoding="utf-8"))
        write(path, {key: value for key, value in settings.items()
                     if key != "name_or_path" and not (isinstance(value, str) and str(folder) in value)})
