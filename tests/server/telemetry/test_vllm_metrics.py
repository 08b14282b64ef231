"""vLLM's own metrics beside ours."""

from prometheus_client import CollectorRegistry, Counter, Gauge, generate_latest

from headworks.server.telemetry.vllm import VllmCollector


def test_vllms_metrics_are_passed_through_under_their_own_names() -> None:
    """Dashboards made for vLLM then work on the gateway; whatever else a library keeps there is not ours to show."""
    source, ours = CollectorRegistry(), CollectorRegistry()
    Gauge("vllm:num_requests_running", "Running.", ["model_name"], registry=source).labels("m").set(3)
    Gauge("python_gc", "A library's own.", registry=source)
    ours.register(VllmCollector(source))
    page = generate_latest(ours).decode()
    assert 'vllm:num_requests_running{model_name="m"} 3.0' in page
    assert "python_gc" not in page


def test_a_restarted_engines_metrics_stand_there_once() -> None:
    """vLLM takes out the dead engine's before it registers new ones; a collector that kept any would show both."""
    source, ours = CollectorRegistry(), CollectorRegistry()
    ours.register(VllmCollector(source))
    assert generate_latest(ours) == b""
    for count in (5, 1):
        preemptions = Counter("vllm:num_preemptions", "Preemptions.", registry=source)
        preemptions.inc(count)
        lines = [line for line in generate_latest(ours).decode().splitlines() if line.startswith("vllm:num_pre")]
        assert [line for line in lines if "_created" not in line] == [f"vllm:num_preemptions_total {count}.0"]
        source.unregister(preemptions)
