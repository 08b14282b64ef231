"""Counts every allocation that Python makes, in a few machine instructions each.

`tracemalloc` knows what is alive, not how much has been made, and slows a server down. Here the interpreter's
allocators are wrapped, as `tracemalloc` wraps them, by functions that add to two numbers in a file that another process
reads.
Objects that Python takes from its free lists (short tuples, floats) are not seen, nor is what C code allocates itself.
"""

import atexit
import ctypes
import mmap
import struct
from dataclasses import dataclass
from pathlib import Path

from llvmlite import binding

_NUMBERS = struct.Struct("=qq")
_DOMAINS = (1, 2)
"""PYMEM_DOMAIN_MEM and PYMEM_DOMAIN_OBJ. Both are called with the GIL held, so that adding needs no lock."""
_CODE = """
%outer = type { ptr, ptr, ptr, ptr, ptr, ptr }
define internal void @count(ptr %our, i64 %size) alwaysinline {
  %at = getelementptr %outer, ptr %our, i32 0, i32 5
  %numbers = load ptr, ptr %at
  %calls = load i64, ptr %numbers
  %more = add i64 %calls, 1
  store i64 %more, ptr %numbers
  %second = getelementptr i64, ptr %numbers, i32 1
  %bytes = load i64, ptr %second
  %sum = add i64 %bytes, %size
  store i64 %sum, ptr %second
  ret void
}
define ptr @headworks_malloc(ptr %our, i64 %size) {
  call void @count(ptr %our, i64 %size)
  %context = load ptr, ptr %our
  %at = getelementptr %outer, ptr %our, i32 0, i32 1
  %inner = load ptr, ptr %at
  %made = tail call ptr %inner(ptr %context, i64 %size)
  ret ptr %made
}
define ptr @headworks_calloc(ptr %our, i64 %count, i64 %size) {
  %bytes = mul i64 %count, %size
  call void @count(ptr %our, i64 %bytes)
  %context = load ptr, ptr %our
  %at = getelementptr %outer, ptr %our, i32 0, i32 2
  %inner = load ptr, ptr %at
  %made = tail call ptr %inner(ptr %context, i64 %count, i64 %size)
  ret ptr %made
}
define ptr @headworks_realloc(ptr %our, ptr %old, i64 %size) {
  call void @count(ptr %our, i64 %size)
  %context = load ptr, ptr %our
  %at = getelementptr %outer, ptr %our, i32 0, i32 3
  %inner = load ptr, ptr %at
  %made = tail call ptr %inner(ptr %context, ptr %old, i64 %size)
  ret ptr %made
}
define void @headworks_free(ptr %our, ptr %old) {
  %context = load ptr, ptr %our
  %at = getelementptr %outer, ptr %our, i32 0, i32 4
  %inner = load ptr, ptr %at
  tail call void %inner(ptr %context, ptr %old)
  ret void
}
"""


class _Allocator(ctypes.Structure):
    """PyMemAllocatorEx, of CPython's Include/cpython/pymem.h."""

    _fields_ = tuple((name, ctypes.c_void_p) for name in ("context", "malloc", "calloc", "realloc", "free"))


class _Outer(ctypes.Structure):
    """What our functions are given: the allocator that they wrap, and where to add."""

    _fields_ = (("inner", _Allocator), ("numbers", ctypes.c_void_p))


@dataclass(frozen=True, slots=True)
class Allocations:
    """Since counting began."""

    calls: int
    """Allocations, and changes of an allocation's size."""
    size_bytes: int

    @classmethod
    def read(cls, file: Path) -> "Allocations":
        """Return what a process has made that counts into this file."""
        return cls(*_NUMBERS.unpack(file.read_bytes()))


_kept: list[object] = []
"""The interpreter refers to these until it ends."""


def make_file(file: Path) -> None:
    """Make a file for a process to count into."""
    file.write_bytes(bytes(_NUMBERS.size))


def count_into(file: Path) -> None:
    """Count the allocations of this process, from now until it ends. Call it once."""
    with file.open("r+b") as opened:
        shared = mmap.mmap(opened.fileno(), _NUMBERS.size)
    numbers = ctypes.addressof(ctypes.c_char.from_buffer(shared))
    functions = _compiled()
    api = ctypes.pythonapi
    for domain in _DOMAINS:
        outer = _Outer(numbers=numbers)
        api.PyMem_GetAllocator(ctypes.c_int(domain), ctypes.byref(outer.inner))
        ours = _Allocator(ctypes.addressof(outer), *functions)
        _kept.extend((outer, ours))
        api.PyMem_SetAllocator(ctypes.c_int(domain), ctypes.byref(ours))
        # At its end the interpreter frees our code before its last objects.
        atexit.register(api.PyMem_SetAllocator, ctypes.c_int(domain), ctypes.byref(outer.inner))
    _kept.append(shared)


def _compiled() -> tuple[int, ...]:
    """Return the addresses of our malloc, calloc, realloc and free."""
    binding.initialize_native_target()
    binding.initialize_native_asmprinter()
    machine = binding.Target.from_default_triple().create_target_machine(opt=2)
    module = binding.parse_assembly(_CODE)
    module.verify()
    engine = binding.create_mcjit_compiler(module, machine)
    engine.finalize_object()
    _kept.append(engine)
    return tuple(engine.get_function_address(f"headworks_{name}") for name in ("malloc", "calloc", "realloc", "free"))
