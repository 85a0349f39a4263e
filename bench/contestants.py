"""What the bench measures: a shape, its inputs, our kernels, their floors and their peers."""

import ctypes
import importlib.util
import sys
import types

import torch

from plugin_abi import Arguments, Matrix, Vector, load

POISON = 123456789


def vector_of(tensor):
    return Vector(tensor.data_ptr(), tensor.numel())


def matrix_of(tensor):
    return Matrix(tensor.data_ptr(), tensor.shape[0], tensor.shape[1], tensor.stride(0))


class Shape:
    """One point of the bench; the defaults are the centre."""

    def __init__(self, **changes):
        self.tokens, self.topk, self.block, self.stride, self.columns = 128, 2048, 64, 64, 2048
        self.mode, self.size, self.rank, self.interleave = "plain", 1, 0, 1
        self.requests, self.sorted, self.table, self.sets = 128, False, "cold", "cold"
        self.factor = "T"
        for name, value in changes.items():
            assert hasattr(self, name), name
            setattr(self, name, value)
        if self.mode.startswith("dcp") and self.size == 1:
            self.size, self.rank = 4, 1

    counts = property(lambda self: self.mode != "plain")
    compacted = property(lambda self: self.mode in ("dcp", "compact"))

    def as_dict(self):
        return dict(vars(self))


class Inputs:
    """One set of inputs with its outputs, made afresh from a seed."""

    def __init__(self, shape, seed):
        g = torch.Generator(device="cuda").manual_seed(seed)
        s = shape
        requests = min(s.tokens, s.requests)
        context = s.columns * s.block * s.size
        self.shape = s
        self.req_id = torch.randint(0, requests, (s.tokens,), dtype=torch.int32, device="cuda", generator=g)
        num_blocks = requests * s.columns
        ids = torch.randperm(num_blocks, device="cuda", generator=g, dtype=torch.int32)
        ids %= max(1, (2**31 - 1) // s.stride)
        self.block_table = ids.view(requests, s.columns)
        self.token_indices = torch.randint(0, context, (s.tokens, s.topk), dtype=torch.int32, device="cuda", generator=g)
        if s.sorted:
            self.token_indices = self.token_indices.sort(dim=1).values
        holes = torch.rand((s.tokens, s.topk), device="cuda", generator=g) < 0.03
        self.token_indices[holes] = -1
        self.prefill = self.starts = None
        if s.mode == "prefill":
            prefill = torch.rand((s.tokens,), device="cuda", generator=g) < 0.5
            self.prefill = torch.where(prefill, torch.randint(0, 16, (s.tokens,), device="cuda", generator=g), -1).to(torch.int32)
            self.starts = torch.arange(16, dtype=torch.int32, device="cuda") * 1000
        self.slots = torch.empty_like(self.token_indices)
        self.valid_counts = torch.empty((s.tokens,), dtype=torch.int32, device="cuda")
        self.sums = torch.empty((s.tokens,), dtype=torch.int32, device="cuda")

    def poison(self):
        self.slots.fill_(POISON)
        self.valid_counts.fill_(POISON)

    def expected(self):
        """The slots in place, by torch in 64 bits."""
        s, tok = self.shape, self.token_indices.long()
        local = tok // (s.size * s.interleave) * s.interleave + tok % s.interleave
        valid = (tok >= 0) & (tok // s.interleave % s.size == s.rank) & (local // s.block < s.columns)
        columns = (local // s.block).clamp(0, s.columns - 1)
        base = self.block_table.long()[self.req_id.long()].gather(1, columns)
        slots = base * s.stride + local % s.block
        if self.prefill is not None:
            rows = (self.prefill >= 0).unsqueeze(1)
            start = self.starts.long()[self.prefill.clamp(min=0).long()].unsqueeze(1)
            slots = torch.where(rows, start + tok, slots)
            valid = torch.where(rows, tok >= 0, valid)
        return torch.where(valid, slots, torch.full_like(slots, -1))

    def wrong(self, slots, counts, ordered):
        """What is wrong with outputs; empty where nothing is."""
        due, got = self.expected(), slots.long()
        count = (due >= 0).sum(1)
        if self.shape.compacted:
            order = (due < 0).to(torch.int8).sort(dim=1, stable=True).indices
            due = due.gather(1, order)
            if not ordered:  # none sorts behind every slot
                due, got = (torch.where(x < 0, 2**40, x).sort(dim=1).values for x in (due, got))
        if not torch.equal(due, got):
            row, column = (due != got).nonzero()[0].tolist()
            return f"slots[{row}, {column}]: expected {due[row, column]}, got {got[row, column]}"
        if counts is not None and not torch.equal(count, counts.long()):
            return "valid_counts differ"
        return ""


class Contestant:
    def accepts(self, shape):
        return True

    def fits(self, inputs):
        return True


class Ours(Contestant):
    ordered = True

    def __init__(self, path, name="slotproof"):
        self.name = name
        self.plugin = load(path)
        self.message = ctypes.create_string_buffer(256)
        self.arguments = {}

    def arguments_of(self, inputs):
        if id(inputs) not in self.arguments:
            s = inputs.shape
            a = Arguments(struct_size=ctypes.sizeof(Arguments), compacted=s.compacted, has_valid_counts=s.counts, block_size=s.block,
                          block_stride_rows=s.stride, dcp_size=s.size, dcp_rank=s.rank, dcp_interleave=s.interleave,
                          req_id=vector_of(inputs.req_id), block_table=matrix_of(inputs.block_table),
                          token_indices=matrix_of(inputs.token_indices), slots=matrix_of(inputs.slots))
            if s.counts:
                a.valid_counts = vector_of(inputs.valid_counts)
            if inputs.prefill is not None:
                a.has_prefill_request_id = a.has_workspace_starts = 1
                a.prefill_request_id, a.workspace_starts = vector_of(inputs.prefill), vector_of(inputs.starts)
            self.arguments[id(inputs)] = a
        return self.arguments[id(inputs)]

    def launch(self, inputs):
        stream = torch.cuda.current_stream().cuda_stream
        code = self.plugin.remap(ctypes.byref(self.arguments_of(inputs)), None, stream, self.message, 256)
        if code != 0:
            raise RuntimeError(f"{self.name}: {code}: {self.message.value.decode()}")
        return inputs.slots, inputs.valid_counts if inputs.shape.counts else None


class Kernel(Ours):
    """One of our kernels by its number, whatever the planner would pick."""

    def __init__(self, library, number, is_shared):
        fields = (ctypes.c_int32 * 7)()
        library.slotproof_bench_describe_kernel(number, fields)
        placement, layout, dcp, sizes, lookup, width, vectors = fields
        words = ["compacted" if placement else "in place", "decode" if layout else "general", *(["dcp"] if dcp else []), *(["any sizes"] if layout and not sizes else []),
                 f"{width} x {vectors}", *(["staged"] if lookup else []), *(["shared"] if is_shared else [])]
        self.name, self.library, self.number, self.is_shared, self.arguments = ", ".join(words), library, number, is_shared, {}

    def do(self, inputs):
        stream = torch.cuda.current_stream().cuda_stream
        return self.library.slotproof_bench_launch_kernel(ctypes.byref(self.arguments_of(inputs)), self.number, int(self.is_shared), ctypes.c_void_p(stream))

    def fits(self, inputs):
        return self.do(inputs) != -1

    def launch(self, inputs):
        code = self.do(inputs)
        if code != 0:
            raise RuntimeError(f"{self.name}: status {code}")
        return inputs.slots, inputs.valid_counts if inputs.shape.counts else None


class Planner:
    """Names the kernel that the planner picks."""

    def __init__(self, library, kernels):
        self.library, self.names = library, {(k.number, k.is_shared): k.name for k in kernels}

    def pick(self, arguments):
        number = self.library.slotproof_bench_planned_kernel(ctypes.byref(arguments))
        return self.names[number % 1000, number >= 1000]


def kernels_of(path):
    library = ctypes.CDLL(str(path))
    return library, [Kernel(library, i, shared) for i in range(library.slotproof_bench_num_kernels()) for shared in (False, True)]


class Diagnosis(Contestant):
    """Our counts of why entries are none, by row and in total: one launch more that a server can afford, or not."""

    name, ordered = "diagnosis", None

    def __init__(self, path, ours):
        self.call, self.ours = ctypes.CDLL(str(path)).slotproof_bench_diagnose, ours
        self.totals = torch.zeros(8, dtype=torch.int64, device="cuda")
        self.row_counts = {}

    def launch(self, inputs):
        counts = self.row_counts.setdefault(inputs.shape.tokens, torch.empty((inputs.shape.tokens, 8), dtype=torch.int32, device="cuda"))
        code = self.call(ctypes.byref(self.ours.arguments_of(inputs)), ctypes.c_void_p(counts.data_ptr()), ctypes.c_void_p(self.totals.data_ptr()),
                         ctypes.c_void_p(torch.cuda.current_stream().cuda_stream))
        if code != 0:
            raise RuntimeError(f"diagnosis: status {code}")


class Triton(Contestant):
    """The upstream wrappers, with the fill and the zeroing that they do."""

    name, ordered = "triton", False

    def __init__(self, path):
        import triton
        import triton.language as tl
        for module in ("vllm", "vllm.triton_utils"):
            sys.modules.setdefault(module, types.ModuleType(module))
        sys.modules["vllm.triton_utils"].tl, sys.modules["vllm.triton_utils"].triton = tl, triton
        spec = importlib.util.spec_from_file_location("peer_sparse_utils", path)
        self.peer = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(self.peer)

    def accepts(self, shape):
        return shape.topk % 128 == 0 and shape.mode != "compact" and not (shape.size > 1 and shape.stride != shape.block)

    def launch(self, inputs):
        s = inputs.shape
        if s.mode.startswith("dcp"):
            result = self.peer.triton_filter_and_convert_dcp_index(
                inputs.req_id, inputs.block_table, inputs.token_indices, s.size, s.rank, s.interleave, BLOCK_SIZE=s.block,
                NUM_TOPK_TOKENS=s.topk, return_valid_counts=True, compact_valid_to_front=s.compacted)
        else:
            result = self.peer.triton_convert_req_index_to_global_index(
                inputs.req_id, inputs.block_table, inputs.token_indices, BLOCK_SIZE=s.block, BLOCK_STRIDE_ROWS=s.stride,
                NUM_TOPK_TOKENS=s.topk, return_valid_counts=s.counts, HAS_PREFILL_WORKSPACE=s.mode == "prefill",
                prefill_workspace_request_ids=inputs.prefill, prefill_workspace_starts=inputs.starts)
        return result if isinstance(result, tuple) else (result, None)


class Torch(Contestant):
    """Torch operators composed by hand, as a user without a kernel would."""

    name, ordered = "torch", True

    def accepts(self, shape):
        return not shape.compacted and shape.mode in ("plain", "count") and shape.tokens <= 8192

    def launch(self, inputs):
        s, tok = inputs.shape, inputs.token_indices
        column = torch.div(tok, s.block, rounding_mode="floor")
        valid = (tok >= 0) & (column < s.columns)
        base = inputs.block_table[inputs.req_id.long()].gather(1, column.clamp(0, s.columns - 1).long())
        slots = torch.where(valid, base * s.stride + tok % s.block, -1)
        return slots, valid.sum(1, dtype=torch.int32) if s.counts else None


class Floor(Contestant):
    ordered = None  # nothing to check

    def __init__(self, name, launch):
        self.name, self.do = name, launch

    def accepts(self, shape):
        return shape.columns % 4 == 0 or self.name != "gather"

    def launch(self, inputs):
        self.do(inputs)


def floors_of(path):
    library = ctypes.CDLL(str(path))
    stream = lambda: ctypes.c_void_p(torch.cuda.current_stream().cuda_stream)
    pointer = lambda tensor: ctypes.c_void_p(tensor.data_ptr())
    return [
        Floor("empty", lambda i: library.slotproof_bench_empty(stream())),
        Floor("copy", lambda i: i.slots.copy_(i.token_indices)),
        Floor("gather", lambda i: library.slotproof_bench_gather(pointer(i.req_id), i.shape.tokens, pointer(i.block_table),
              ctypes.c_int64(i.block_table.stride(0)), i.shape.columns, pointer(i.sums), stream())),
    ]
