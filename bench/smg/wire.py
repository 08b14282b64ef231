"""The contract of SMG's servicer: token ids in, token ids out, no text."""

from itertools import count

from smg_grpc_proto import vllm_engine_pb2 as pb

PROMPT_TOKENS = 40
"""As many as our question has with its chat template, about."""
_numbers = count(1)


class Generate:
    """SMG's."""

    method = "/vllm.grpc.engine.VllmEngine/Generate"

    def requests(self, tokens: int) -> tuple[bytes, ...]:
        """Return one message; its request id is new at each call."""
        request = pb.GenerateRequest(
            request_id=f"turn-{next(_numbers)}",
            tokenized=pb.TokenizedInput(input_ids=range(PROMPT_TOKENS)),
            sampling_params=pb.SamplingParams(max_tokens=tokens, temperature=0.0),
            stream=True,
        )
        return (request.SerializeToString(),)

    def read(self, reply: bytes) -> tuple[int, int]:
        return len(pb.GenerateResponse.FromString(reply).chunk.token_ids), 0
