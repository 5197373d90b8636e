"""Tiny shapes: which value a config's field gets, by its name and its default.

All widths of one value become one width, so that fields which must agree still do. Lists keep their
length, since each entry is a stage. Kernels, strides and patches stay: inputs then have the sizes
that the processors' defaults expect.

Not here: configs that need more than values of fields (architectures.py).
"""

WIDTH, HEADS, HEAD_DIM, LAYERS = 32, 4, 8, 2
MAX_POSITIONS, MAX_VOCABULARY = 1026, 1024
LEAST_TEXT_VOCABULARY = 5000  # smaller ones are of sounds and pictures

_WIDTHS = """hidden_size d_model embed_dim projection_dim n_embd hidden_dim emb_dim dim n_embed
    embedding_size hidden_channels out_hidden_size encoder_hidden_size decoder_hidden_size
    bottleneck_channels fpn_hidden_size fpn_feature_size mask_feature_size feature_size pooler_hidden_size
    pooler_output_size classifier_proj_size output_hidden_size word_embed_proj_dim cross_attention_hidden_size
    image_text_hidden_size text_hidden_size vision_hidden_size output_size xvector_output_dim lstm_dim
    text_embed_dim encoder_hidden_dim neck_hidden_dim fusion_hidden_size reassemble_hidden_size proj_dim
    text_projection_dim vision_embed_dim encoder_embed_dim decoder_embed_dim embedding_dim attention_size
    memory_encoder_hidden_size memory_attention_hidden_size mask_downsampler_embed_dim memory_fuser_embed_dim
    memory_encoder_output_channels adapter_dim enc_dim lru_width hidden_size_global attention_hidden_size
    hidden_size_per_layer_input backbone_hidden_size decoder_input_dim d_inner d_embed mamba_intermediate
    perceiver_hidden_size resampler_hidden_size audio_hidden_size share_embedding_dim share_hidden_size
    query_hidden_size reduce_hidden_size vision_output_dim bert_embed_dim time_embed_dim
    qformer_hidden_size qformer_text_hidden_size intermediate_channel dim_model output_dim
    hidden_size_audio hidden_size_text cross_hidden_size class_embed_dim mask_dim
    decoder_output_size text_enc_dim query_feature_size channels_last embed_size
    image_hidden_size encoder_dim d_latents d_lang token_dim lm_hidden_size cond_dim
    num_queries_dim descriptor_decoder_dim descriptor_dim visual_hidden_size pixel_hidden_size depth_hidden_size""".split()
_INNER = """intermediate_size ffn_dim encoder_ffn_dim decoder_ffn_dim n_inner d_ff dim_feedforward
    mlp_dim ffn_hidden_size decoder_intermediate_size intermediate_dim linear_units dim_ff
    memory_attention_feed_forward_hidden_size memory_fuser_intermediate_dim feed_forward_dim
    mlp_hidden_size feedforward_size moe_intermediate_size shared_expert_intermediate_size
    moe_shared_expert_intermediate_size intermediate_size_mlp expert_ffn_hidden_size
    speech_encoder_intermediate_size shared_intermediate_size block_ff_dim entity_embedding
    encoder_intermediate_size expert_dim feed_forward_size mamba_d_ssm mlp_intermediate_size
    feed_forward_hidden_size ffn_size variance_predictor_dim unit_hidden_size d_inner_hid
    text_intermediate_size t2u_encoder_ffn_dim t2u_decoder_ffn_dim num_hidden_dim
    iou_head_hidden_dim vector_quantization_hidden_dimension word_embedding""".split()
_HEADS = """num_attention_heads n_head n_heads num_heads encoder_attention_heads decoder_attention_heads
    attention_heads decoder_num_attention_heads encoder_num_attention_heads num_self_attention_heads
    num_cross_attention_heads speech_encoder_attention_heads t2u_encoder_attention_heads
    t2u_decoder_attention_heads resampler_n_heads qformer_num_attention_heads
    pred_heads""".split()
_LAYERS = """num_hidden_layers n_layer n_layers num_layers encoder_layers decoder_layers depth
    num_encoder_layers num_decoder_layers encoder_num_hidden_layers decoder_num_hidden_layers
    num_self_attends_per_block memory_attention_num_layers memory_fuser_num_layers num_block_layers
    text_encoder_num_layers speech_encoder_layers t2u_encoder_layers t2u_decoder_layers encoder_num_layers
    decoder_num_layers resampler_depth num_adapter_layers qformer_num_hidden_layers speech_decoder_postnet_layers
    prior_encoder_num_flows stochastic_duration_predictor_flows text_num_layers l_layers x_layers r_layers
    entity_layers num_trunk_layers duration_predictor_layers pitch_predictor_layers
    energy_predictor_layers temporal_layers num_mem_blocks mask_downsampler_layers""".split()
_HEAD_DIMS = """head_dim d_kv kv_channels d_head attention_head_dim dim_head attention_head_size
    v_head_dim qk_nope_head_dim qk_rope_head_dim mamba_d_head linear_key_head_dim linear_value_head_dim
    global_head_dim qk_channels_dim attn_head_size""".split()
_POSITIONS = """max_position_embeddings n_positions max_source_positions max_target_positions
    max_seq_len max_sequence_length n_ctx max_encoder_position_embeddings max_decoder_position_embeddings
    seq_length original_max_position_embeddings max_speech_positions max_text_positions
    num_position_embeddings max_seq_length""".split()
_VOCABULARIES = """codebook_size num_embeddings codevectors num_codevectors entity_vocab_size
    audio_vocab_size t2u_vocab_size unit_hifi_gan_vocab_size max_2d_position_embeddings
    input_vocab_size output_vocab_size position_embedding_size vocab_size_per_layer_input
    pooled_vocab num_embeds_ada_norm""".split()

_FIXED = {
    "num_key_value_heads": 2, "n_head_kv": 2, "num_kv_heads": 2, "multi_query_group_num": 2,
    "encoder_num_key_value_heads": 2, "decoder_num_key_value_heads": 2,
    "linear_num_key_heads": 2, "linear_num_value_heads": 4,
    "num_experts": 4, "num_local_experts": 4, "n_routed_experts": 4, "moe_num_experts": 4,
    "num_routed_experts": 4, "num_experts_per_tok": 2, "num_experts_per_token": 2, "moe_topk": 2,
    "moe_k": 2, "top_k_experts": 2, "n_group": 1, "topk_group": 1, "n_shared_experts": 1,
    "num_shared_experts": 1, "moe_num_shared_experts": 1, "first_k_dense_replace": 1,
    "expert_capacity": 64, "zero_expert_num": 0,
    "q_lora_rank": 16, "kv_lora_rank": 16, "qk_head_dim": 2 * HEAD_DIM,
    "mamba_n_heads": 8, "upsample_groups": WIDTH, "mamba_d_state": 16, "ssm_state_size": 16, "state_size": 16, "time_step_rank": 8,
    "mamba_dt_rank": 8, "mamba_expand": 2, "mamba_n_groups": 1, "n_groups": 1,
    "num_conv_pos_embeddings": 16, "num_conv_pos_embedding_groups": 2, "codevector_dim": 16,
    "num_queries": 12, "num_query_tokens": 4, "resampler_n_latents": 4, "num_latents": 16,
    "num_denoising": 4, "num_points": 16, "train_num_points": 64, "two_stage_num_proposals": 12,
    "num_filters": 8, "base_channels": 32, "latent_channels": 8, "codebook_dim": 8,
    "upsample_initial_channel": 32, "tdnn_dim": [32, 32, 32], "tdnn_kernel": [5, 3, 1],
    "tdnn_dilation": [1, 2, 1], "max_window_layers": 1, "attention_window": 32,
    "speech_decoder_prenet_units": 32, "speech_decoder_postnet_units": 32,
    "num_register_tokens": 2, "coordinate_size": 4, "shape_size": 6,
    "sliding_window": 64, "local_attention": 32, "attention_chunk_size": 64, "kv_chunk": 64,
    "use_pretrained_backbone": False, "use_timm_backbone": False, "backbone": None,
    "backbone_kwargs": None, "attention_bias_rank": 4, "num_maskmem": 2, "pretraining_tp": 1,
    "image_token_num": 16, "head_hidden_size": 16, "fusion_channels": 16,
    "global_attn_indexes": [1], "full_attn_mod": 1, "fullatt_block_indexes": [1],
    "deepstack_visual_indexes": [0, 1], "num_depth_bins": 8, "n_codebooks": 4,
    "hidden_expansion": 1.0, "laurel_rank": 8, "altup_num_inputs": 2, "conv_bias_rank": 4,
    "num_res_blocks": 1, "num_detection_tokens": 12, "num_parallel_samples": 4,
}  # fmt: skip

# One pass makes many of these, or does them often. Random weights find no end of it, so a bound that
# stands for none (-1) becomes a small one as well.
_BOUNDS = {
    "max_keypoints": 64, "max_num_keypoints": 64, "max_detections": 64, "max_num_objects": 64, "sinkhorn_iterations": 10,
    "num_inference_steps": 4, "num_sampling_steps": 4,
}  # fmt: skip

# Lists of widths or heads, a stage each: the smallest becomes this, the others in proportion.
_STAGE_WIDTHS = dict.fromkeys(
    """hidden_sizes embed_dims encoder_hidden_sizes neck_hidden_sizes stage_out_channels encoder_channels
    backbone_channel_list block_dims embed_dim conv_dim encoder_in_channels dim
    stem_channels stage_in_channels stage_mid_channels decoder_in_channels embed_dim_per_stage
    decoder_hidden_sizes multi_scale_channels channels backbone_out_channels hidden_dims out_channels
    block_out_channels post_process_channels""".split(), 16
)
_STAGE_HEADS = dict.fromkeys(
    "num_heads num_attention_heads embed_dim_heads num_attention_heads_per_stage "
    "num_attention_heads_list".split(), 1
)
_STAGE_DEPTHS = set(
    """depths layers num_blocks stage_num_blocks stage_numb_of_layers num_block_repeats blocks_per_stage
    layer_depths depth block_sizes stages_depth""".split()
)


# Factors of one width, a stage each: all stages become as wide as the first.
_STAGE_FACTORS = {"channel_multiplier", "ch_mult", "channel_multipliers"}


def proportional(values, smallest):
    """The list scaled so that its smallest positive entry is `smallest`; ratios stay."""
    least = min((v for v in values if v > 0), default=1)
    unit = max(1, smallest // 2)
    return [max(unit, round(v * smallest / least / unit) * unit) if v > 0 else v for v in values]


def image_size(fields):
    """Four patches a side; without patches what five halvings leave two of."""
    patch = fields.get("patch_size") or fields.get("encoder_stride")
    if isinstance(patch, (list, tuple)):
        patch = patch[-1] if patch else None
    if not isinstance(patch, int) or patch < 4:
        return 64
    return 64 if patch == 4 else 2 * patch if patch > 16 else 4 * patch


def _shrink_list(name, old):
    if not old or not all(isinstance(v, (int, float)) and not isinstance(v, bool) for v in old):
        return old
    if name in _STAGE_DEPTHS or name in _STAGE_FACTORS:
        return type(old)([min(v, 1) for v in old])
    for table in (_STAGE_WIDTHS, _STAGE_HEADS):
        if name in table:
            return type(old)(proportional(old, table[name]))
    return old


def _scalar_rules():
    rules = dict.fromkeys(_WIDTHS, lambda old: WIDTH)
    rules.update(dict.fromkeys(_INNER, lambda old: 2 * WIDTH))
    rules.update(dict.fromkeys(_HEADS, lambda old: min(old, HEADS)))
    rules.update(dict.fromkeys(_LAYERS, lambda old: min(old, LAYERS)))
    rules.update(dict.fromkeys(_HEAD_DIMS, lambda old: HEAD_DIM))
    rules.update(dict.fromkeys(_POSITIONS, lambda old: min(old, MAX_POSITIONS if old <= 1026 else 1024)))
    rules.update(dict.fromkeys(_VOCABULARIES, lambda old: min(old, MAX_VOCABULARY)))
    return rules


_SCALARS = _scalar_rules()


def shrink_value(name, old, fields):
    """The field's tiny value. `fields`: all fields of its config, with their defaults."""
    if old is None or (isinstance(old, bool) and name not in _FIXED):
        return old
    if isinstance(old, (list, tuple)):
        return _FIXED[name] if name in _FIXED else _shrink_list(name, old)
    if name in ("image_size", "img_size", "pretrain_image_size"):
        return image_size(fields)
    if name == "embed_dim" and isinstance(fields.get("depths"), (list, tuple)):
        return WIDTH // 2  # the first stage's; each next one has twice as much
    if name in _BOUNDS and _number(old):
        return min(old, _BOUNDS[name]) if old >= 0 else _BOUNDS[name]
    if name in _FIXED:
        new = _FIXED[name]
        return min(old, new) if _number(new) and _number(old) and new is not False else new
    if name in _SCALARS and _number(old) and old > 0:
        return _SCALARS[name](old)
    return old


def _number(value):
    return isinstance(value, (int, float)) and not isinstance(value, bool)


def shrink_rope(rope, head_dim):
    """Sections of a rotary embedding share half of a head; factors come one for each pair."""
    if not isinstance(rope, dict):
        return rope
    new = dict(rope)
    for key, value in rope.items():
        if isinstance(value, dict):
            new[key] = shrink_rope(value, head_dim)
    half = max(1, int(head_dim * new.get("partial_rotary_factor", 1.0)) // 2)
    if sections := rope.get("mrope_section"):
        rest = half - (len(sections) - 1) * (half // len(sections))
        new["mrope_section"] = [rest] + [half // len(sections)] * (len(sections) - 1)
    for key in ("long_factor", "short_factor"):
        if key in rope:
            new[key] = [1.0] * half
    return new


def shrink_layers(fields, new):
    """Layer kinds and indices follow the number of layers; each kind keeps a layer."""
    layers = next((n for n in ("num_hidden_layers", "n_layer", "num_layers") if _number(new.get(n))), None)
    kinds = fields.get("layer_types") or fields.get("layers_block_type")
    if kinds and layers:
        key = "layer_types" if fields.get("layer_types") else "layers_block_type"
        distinct = list(dict.fromkeys(kinds))
        new[layers] = max(len(distinct), new[layers])
        new[key] = (distinct * LAYERS)[: new[layers]]
    indices = fields.get("out_indices")
    if layers and indices and not fields.get("depths"):
        new[layers] = max(new[layers], len(indices))
        last = new[layers]
        new["out_features"] = [f"stage{last - i}" for i in reversed(range(len(indices)))]
    for name in ("no_rope_layers", "mlp_layer_types", "is_moe_layer"):
        if layers and isinstance(fields.get(name), list) and len(fields[name]) > new[layers]:
            new[name] = fields[name][: new[layers]]
    return new


def is_token(name):
    """Whether the field holds the id of a token, or several."""
    return name.endswith(("_token_id", "_token_index", "_token_ids", "_token")) or name in _TOKEN_FIELDS


_TOKEN_FIELDS = {"pad_index", "bos_index", "eos_index", "unk_index", "mask_index", "pad_id", "eos_id"}


def token_id(name, special):
    """The tokenizer's id for a field, by either spelling of its name; None where it has none."""
    plain = name.replace("_token_index", "_token_id").replace("_index", "_token_id")
    return special.get(name, special.get(plain))


# A token that the tokenizer has in the place of one that it lacks.
_INSTEAD = {"bos_token_id": "cls_token_id", "eos_token_id": "sep_token_id", "sep_token_id": "eos_token_id"}


def vocabulary_size(fields, facts):
    """The tiny size, and whether the vocabulary is a text's. A whole without one has a part that
    has it, whose tokens its fields name."""
    old = fields.get("vocab_size")
    if "vocab_size" not in fields or (old is not None and not _number(old)):
        return (facts or {}).get("vocab_size"), True
    is_text = old is None or old > LEAST_TEXT_VOCABULARY or "bos_token_id" in fields
    if facts and is_text:
        return facts["vocab_size"], True
    return min(old or MAX_VOCABULARY, MAX_VOCABULARY), is_text


def shrink_tokens(fields, new, facts):
    """A text's vocabulary is the tokenizer's, others stay small. An id outside gets a free place at
    the end. `facts`: as make_tokenizer returns them, or None."""
    size, is_text = vocabulary_size(fields, facts)
    special = (facts or {}).get("special", {}) if is_text else {}
    if size is None:
        return new
    if "vocab_size" in fields:
        new["vocab_size"] = size
    for name in ("src_vocab_size", "tgt_vocab_size"):
        if _number(fields.get(name)):
            new[name] = size
    for name in fields:
        if is_token(name) and fields[name] is not None and token_id(name, special) is not None:
            new[name] = token_id(name, special)
    taken = {v for k, v in new.items() if is_token(k) and _number(v) and v < size}
    free = iter([i for i in range(size - 1, -1, -1) if i not in taken])
    for name in fields:
        value = new.get(name)
        if is_token(name) and _number(value) and value >= size:
            instead = special.get(_INSTEAD.get(name))
            new[name] = next(free, 0) if instead is None else instead
        elif is_token(name) and isinstance(value, list) and any(_number(v) and v >= size for v in value):
            new[name] = [next(free, 0) for _ in value]
    return new


def shrink_fields(fields, facts=None):
    """All fields of one config, without those that are configs themselves."""
    new = {name: shrink_value(name, old, fields) for name, old in fields.items()}
    heads = new.get("num_attention_heads")
    if "head_dim" in fields and fields["head_dim"] is None and _number(heads) and heads > 0:
        new["head_dim"] = WIDTH // heads
    head_dim = new.get("head_dim") or HEAD_DIM
    for name in ("rope_parameters", "rope_scaling"):
        if isinstance(fields.get(name), dict):
            new[name] = shrink_rope(fields[name], head_dim)
    return shrink_tokens(fields, shrink_layers(fields, new), facts)
