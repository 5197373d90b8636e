"""Model types whose tiny shape the names of their fields do not tell, a row each.

Not here: the rules for all others (shapes.py).
"""

# Arguments without which the class's default cannot be made.
REQUIRED = {
    "mobilebert": {},
}

_SERIES = {"prediction_length": 4, "context_length": 8, "lags_sequence": [1, 2], "num_time_features": 1}

# Fields of the whole config.
EXCEPTIONS = {
    "autoformer": _SERIES,
    "informer": _SERIES,
    "time_series_transformer": _SERIES,
    "beit": {"num_hidden_layers": 4, "out_indices": [1, 2, 3, 4]},
    "data2vec-vision": {"num_hidden_layers": 4, "out_indices": [1, 2, 3, 4]},
    "bit": {"num_groups": 1},
    "bridgetower": {"hidden_size": 64},
    "detr": {"encoder_attention_heads": 8, "decoder_attention_heads": 8},
    "blt": {"encoder_hash_byte_group_vocab": 500},
    "chameleon": {"vocabulary_map": {"<image>": 3, "IMGIMGA": 4, "IMGIMGB": 5}},
    "emu3": {"vocabulary_map": {"<image>": 3, "<|visual token 0|>": 4, "<|visual token 1|>": 5}},
    "cvt": {"depth": [1, 1, 1], "drop_path_rate": [0.0, 0.0, 0.1]},
    "efficientloftr": {"hidden_size": 64, "out_features": [16, 16, 32, 64]},
    "gemma3n_text": {"num_hidden_layers": 4, "num_kv_shared_layers": 1, "activation_sparsity_pattern": None,
                     "layer_types": ["full_attention", "sliding_attention"] * 2, "intermediate_size": 64},
    "gpt_neo": {"attention_types": [[["global", "local"], 1]]},
    "hiera": {"decoder_hidden_size": 32, "decoder_depth": 1, "decoder_num_heads": 4},
    "mamba2": {"num_heads": 8, "head_dim": 8},
    "perceiver": {"num_cross_attention_heads": 1, "num_self_attention_heads": 4},
    "reformer": {"axial_pos_embds_dim": [8, 24], "axial_pos_shape": [16, 32], "max_position_embeddings": 512},
    "zamba": {"num_hidden_layers": 6, "layers_block_type": None},
}

# Fields of a sub-config: (model type of the whole, name of the field) → fields.
SUB_EXCEPTIONS = {
    ("bridgetower", "text_config"): {"hidden_size": 64},
    ("bridgetower", "vision_config"): {"hidden_size": 64},
}
