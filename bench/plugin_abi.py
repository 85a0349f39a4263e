"""slotproof/plugin.h for ctypes."""

import ctypes


class Vector(ctypes.Structure):
    _fields_ = [("data", ctypes.c_void_p), ("size", ctypes.c_int32)]


class Matrix(ctypes.Structure):
    _fields_ = [("data", ctypes.c_void_p), ("rows", ctypes.c_int32), ("columns", ctypes.c_int32), ("row_stride", ctypes.c_int64)]


class Arguments(ctypes.Structure):  # slotproof_remap_arguments of slotproof/plugin.h
    _fields_ = [(name, ctypes.c_uint32) for name in (
        "struct_size", "compacted", "order_unspecified", "has_num_blocks", "has_prefill_request_id", "has_workspace_starts",
        "has_num_workspace_rows", "has_tile", "has_valid_counts")] + [
        ("block_size", ctypes.c_int32), ("block_stride_rows", ctypes.c_int64), ("num_blocks", ctypes.c_int64),
        ("num_workspace_rows", ctypes.c_int64), ("dcp_size", ctypes.c_int32), ("dcp_rank", ctypes.c_int32),
        ("dcp_interleave", ctypes.c_int32), ("tile", ctypes.c_int32), ("req_id", Vector), ("block_table", Matrix),
        ("token_indices", Matrix), ("prefill_request_id", Vector), ("workspace_starts", Vector), ("slots", Matrix),
        ("valid_counts", Vector)]


class Plugin(ctypes.Structure):
    _fields_ = [("struct_size", ctypes.c_uint32), ("abi", ctypes.c_uint32), ("name", ctypes.c_char_p), ("memory", ctypes.c_uint32),
                ("level", ctypes.c_uint32), ("capabilities", ctypes.c_uint64),
                ("remap", ctypes.CFUNCTYPE(ctypes.c_int32, ctypes.POINTER(Arguments), ctypes.c_void_p, ctypes.c_void_p,
                                           ctypes.c_char_p, ctypes.c_uint32))]


def load(path):
    """The descriptor of a plug-in; it keeps the library loaded."""
    library = ctypes.CDLL(str(path))
    library.slotproof_plugin_v1.restype = ctypes.POINTER(Plugin)
    return library.slotproof_plugin_v1().contents
