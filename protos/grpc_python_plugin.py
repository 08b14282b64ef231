"""Run grpcio-tools' built-in gRPC generator as the plugin that `buf generate` expects on standard input."""

import sys
import tempfile
from pathlib import Path

from google.protobuf.compiler.plugin_pb2 import CodeGeneratorRequest, CodeGeneratorResponse
from google.protobuf.descriptor_pb2 import FileDescriptorSet
from grpc_tools import protoc


def generate(request: CodeGeneratorRequest) -> CodeGeneratorResponse:
    """Return the `_pb2_grpc.py` of every file to generate, or the generator's refusal."""
    response = CodeGeneratorResponse(supported_features=CodeGeneratorResponse.FEATURE_PROTO3_OPTIONAL)
    with tempfile.TemporaryDirectory() as folder:
        descriptors = Path(folder, "descriptors.binpb")
        descriptors.write_bytes(FileDescriptorSet(file=request.proto_file).SerializeToString())
        arguments = ["protoc", f"--descriptor_set_in={descriptors}", f"--grpc_python_out={folder}"]
        if protoc.main([*arguments, *request.file_to_generate]) != 0:
            response.error = "grpcio-tools refused the input"
            return response
        for path in sorted(Path(folder).rglob("*.py")):
            response.file.add(name=str(path.relative_to(folder)), content=path.read_text())
    return response


if __name__ == "__main__":
    sys.stdout.buffer.write(generate(CodeGeneratorRequest.FromString(sys.stdin.buffer.read())).SerializeToString())
