"""Server reflection under both of its names: tools ask for v1 first, and grpcio-reflection 1.85 has v1alpha only."""

from collections.abc import Iterable

import grpc
from google.protobuf import descriptor_pb2, text_format
from google.protobuf.descriptor import FileDescriptor
from google.protobuf.descriptor_pool import DescriptorPool
from grpc_reflection.v1alpha import reflection, reflection_pb2

_OLD, _NEW = "grpc.reflection.v1alpha", "grpc.reflection.v1"
_METHOD = "ServerReflectionInfo"
NAMES = tuple(f"{package}.ServerReflection" for package in (_NEW, _OLD))


def add_reflection(server: grpc.aio.Server, files: Iterable[FileDescriptor]) -> None:
    """Describe every service of `files`, and reflection itself, to whoever asks.

    The two versions have the same messages, field for field, so one servicer answers for both.
    Source: grpc/grpc, doc/server-reflection.md.
    """
    described = [*files, reflection_pb2.DESCRIPTOR]
    names = {service.full_name for file in described for service in file.services_by_name.values()}
    servicer = reflection.aio.ReflectionServicer(names | set(NAMES), _pool_of(described))
    handler = grpc.stream_stream_rpc_method_handler(
        servicer.ServerReflectionInfo,
        request_deserializer=reflection_pb2.ServerReflectionRequest.FromString,
        response_serializer=reflection_pb2.ServerReflectionResponse.SerializeToString,
    )
    handlers = [grpc.method_handlers_generic_handler(name, {_METHOD: handler}) for name in NAMES]
    server.add_generic_rpc_handlers(handlers)


def _pool_of(files: Iterable[FileDescriptor]) -> DescriptorPool:
    """A pool of its own: the process's may get grpc's real v1 file from another library, and would then refuse ours."""
    pool = DescriptorPool()
    for file in files:
        _add(pool, file)
    old = descriptor_pb2.FileDescriptorProto()
    reflection_pb2.DESCRIPTOR.CopyToProto(old)
    renamed = text_format.MessageToString(old).replace("v1alpha", "v1")
    pool.Add(text_format.Parse(renamed, descriptor_pb2.FileDescriptorProto()))
    return pool


def _add(pool: DescriptorPool, file: FileDescriptor) -> None:
    for dependency in file.dependencies:
        _add(pool, dependency)
    pool.AddSerializedFile(file.serialized_pb)
