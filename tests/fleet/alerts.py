#!/usr/bin/env python3
"""What `rawhal top --prometheus` writes of a program that runs, read by a real Prometheus with the alert rules of fleet/alerts.

usage: alerts.py SOURCE BUILD
Exit status 77: prometheus is not here."""
import http.server
import json
import os
import shutil
import socket
import subprocess
import sys
import tempfile
import threading
import time
import urllib.error
import urllib.parse
import urllib.request

SOURCE, BUILD = map(os.path.abspath, sys.argv[1:3])
RULES = os.path.join(SOURCE, "fleet/alerts")
RAWHAL = os.path.join(BUILD, "tools/rawhal")


def skip(reason):
    print(f"skipped: {reason}")
    sys.exit(77)


def metrics(region):
    return subprocess.run([RAWHAL, "top", "--prometheus", region], capture_output=True, check=True).stdout


def is_begun(region):
    """Has it a tenant? Before that there is no file, or one without a header, which cannot be read."""
    said = subprocess.run([RAWHAL, "top", "--prometheus", region], capture_output=True)
    return said.returncode == 0 and b"rawhal_tenant_device_seconds_total{" in said.stdout


def serve(region):
    """As node_exporter serves the file that a timer has written: anew for each scrape."""

    class Handler(http.server.BaseHTTPRequestHandler):
        def do_GET(self):
            body = metrics(region)
            self.send_response(200)
            self.send_header("Content-Type", "text/plain; version=0.0.4")
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *arguments):
            pass

    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    return server.server_address[1]


def free_port():
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        return taken.getsockname()[1]


def ask(port, path, **parameters):
    url = f"http://127.0.0.1:{port}/api/v1/{path}?{urllib.parse.urlencode(parameters)}"
    try:
        with urllib.request.urlopen(url, timeout=10) as answer:
            return json.load(answer)["data"]
    except (urllib.error.URLError, ConnectionError):
        return None  # it is not up yet


def value(port, query):
    found = ask(port, "query", query=query)
    return float(found["result"][0]["value"][1]) if found and found["result"] else None


def until(server, condition):
    """Prometheus and the program go on by themselves; what is waited for is that they have."""
    while True:
        assert server.poll() is None, "prometheus has ended"
        found = condition()
        if found:
            return found
        time.sleep(0.05)


def check(work, children):
    region = os.path.join(work, "region")
    environment = dict(os.environ, RAWHAL_LIMIT_REGION=region, RAWHAL_TENANT="blue", RAWHAL_GPU_SHARE="30%",
                       RAWHAL_MEMORY_LIMIT="64M")
    children.append(subprocess.Popen([os.path.join(BUILD, "softgpu/softgpu-run"), RAWHAL, "exec", "--",
                                      os.path.join(BUILD, "tests/front/share"), "1000000", "1300"], env=environment))
    while not is_begun(region):
        assert children[0].poll() is None, "the program has ended"
        time.sleep(0.01)
    said = subprocess.run(["promtool", "check", "metrics"], input=metrics(region), capture_output=True)
    assert said.returncode in (0, 3), said  # 3: advice on names
    configuration = {"global": {"scrape_interval": "200ms", "scrape_timeout": "200ms", "evaluation_interval": "200ms"},
                     "rule_files": [os.path.join(RULES, "rawhal.rules.yml")],
                     "scrape_configs": [{"job_name": "node", "scrape_timeout": "200ms", "static_configs": [
                         {"targets": [f"127.0.0.1:{serve(region)}"]}]}]}
    file = os.path.join(work, "prometheus.yml")
    with open(file, "w") as out:
        json.dump(configuration, out)  # which is YAML
    subprocess.run(["promtool", "check", "config", file], check=True, capture_output=True)
    port = free_port()
    server = subprocess.Popen(["prometheus", f"--config.file={file}", f"--storage.tsdb.path={work}/data",
                               f"--web.listen-address=127.0.0.1:{port}", "--log.level=error"])
    children.append(server)
    until(server, lambda: (value(port, 'rawhal_tenant_device_seconds_total{tenant="blue"}') or 0) > 0.1)
    assert value(port, 'rawhal_tenant_share_limit_ratio{tenant="blue"}') == 0.3
    assert value(port, 'rawhal_tenant_memory_limit_bytes{tenant="blue"}') == 64 << 20
    assert value(port, "rawhal_region_damaged") == 0
    rules = until(server, lambda: [rule for group in (ask(port, "rules") or {"groups": []})["groups"] for rule in group["rules"]
                                   if group["rules"] and all(one["health"] == "ok" for one in group["rules"])])
    alerts = [rule["name"] for rule in rules if rule["type"] == "alerting"]
    assert len(alerts) >= 7, alerts
    firing = [rule["name"] for rule in rules if rule.get("state") == "firing"]
    assert not firing, firing
    print(f"{len(rules)} rules evaluated on a running program's metrics, none fires")


def main():
    if not shutil.which("prometheus") or not shutil.which("promtool"):
        skip("prometheus is not installed")
    subprocess.run(["promtool", "check", "rules", "rawhal.rules.yml"], cwd=RULES, check=True)
    subprocess.run(["promtool", "test", "rules", "rawhal.test.yml"], cwd=RULES, check=True)
    work, children = tempfile.mkdtemp(prefix="rawhal-alerts-"), []
    try:
        check(work, children)
    finally:
        for child in children:
            child.kill()
            child.wait()
        shutil.rmtree(work, ignore_errors=True)


main()
