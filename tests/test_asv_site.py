"""`asv run` on three commits, `asv publish`, and the site as a headless browser sees it.

The commits are of a repository made here, whose benchmarks are ours; all are measured on the
installed package, so that nothing is built. asv's pages load their libraries from content networks;
here those come from npm. Skipped where git, npm, chromedriver, asv or selenium is missing.
"""

import functools
import http.server
import json
import os
import re
import shutil
import subprocess
import sys
import tarfile
import threading
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
BENCHMARK = "small.Overhead.time_gemm"
# Named after the file; stupidtable, which sorts columns, is not on npm, and is left out.
NPM = {
    "jquery-3.3.1.min.js": ("jquery@3.3.1", "dist/jquery.min.js"),
    "jquery.flot.min.js": ("flot@0.8.3", "jquery.flot.js"),
    "jquery.flot.time.min.js": ("flot@0.8.3", "jquery.flot.time.js"),
    "jquery.flot.selection.min.js": ("flot@0.8.3", "jquery.flot.selection.js"),
    "jquery.flot.categories.min.js": ("flot@0.8.3", "jquery.flot.categories.js"),
    "jquery.flot.orderBars.js": ("flot-orderbars@1.0.0", "js/jquery.flot.orderBars.js"),
    "md5.min.js": ("blueimp-md5@2.19.0", "js/md5.min.js"),
    "bootstrap.min.js": ("bootstrap@3.1.1", "dist/js/bootstrap.min.js"),
    "bootstrap.min.css": ("bootstrap@3.1.1", "dist/css/bootstrap.min.css"),
}
STAND_IN = {"stupidtable.min.js": "jQuery.fn.stupidtable = function () { return this; };"}


def call(*command, cwd, home):
    path = os.environ.get("PYTHONPATH", "")  # which asv does not hand on under this name
    env = {**os.environ, "HOME": str(home), "ASV_PYTHONPATH": path}
    done = subprocess.run(command, cwd=cwd, env=env, capture_output=True, text=True)
    assert done.returncode == 0, f"{command}\n{done.stdout}\n{done.stderr}"
    return done.stdout.strip()


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    """The folder of the published site, after three commits."""
    pytest.importorskip("asv")
    if not shutil.which("git"):
        pytest.skip("git is not installed")
    home = tmp_path_factory.mktemp("asv")
    repository = home / "repository"
    folder = repository / "asv_benches"
    ignored = shutil.ignore_patterns("env", "html", "results", "__pycache__")
    shutil.copytree(ROOT / "asv_benches", folder, ignore=ignored)
    git = functools.partial(call, "git", "-c", "user.name=t", "-c", "user.email=t@localhost")
    git("init", "-q", "-b", "main", cwd=repository, home=home)
    asv = functools.partial(call, sys.executable, "-m", "asv", cwd=folder, home=home)
    asv("machine", "--yes")
    for number in range(3):
        (repository / "change").write_text(str(number))
        git("add", "-A", cwd=repository, home=home)
        git("commit", "-qm", f"change {number}", cwd=repository, home=home)
        head = git("rev-parse", "HEAD", cwd=repository, home=home)
        how = ("--python=same", "--quick", f"--set-commit-hash={head}", "--bench=small.Overhead")
        asv("run", *how)
    asv("publish")
    return folder / "html"


def localize(page, vendor):
    """Let the page load from `vendor` what it would load from elsewhere."""
    missing = {
        Path(url).name for url in re.findall(r'(?:src|href)="(https://[^"]+\.(?:js|css))"', page)
    }
    assert missing == {*NPM, *STAND_IN}, "asv's site uses other libraries than it did"
    page = re.sub(r'"https://[^"]+/([^"/]+\.(?:js|css))"', rf'"{vendor}/\1"', page)
    return re.sub(r' integrity="[^"]*"| crossorigin="[^"]*"', "", page)


@pytest.fixture(scope="module")
def address(site, tmp_path_factory):
    """Where the site is served, with its libraries."""
    npm = shutil.which("npm")
    if not npm:
        pytest.skip("npm is not installed")
    vendor = site / "vendor"
    vendor.mkdir()
    packages = tmp_path_factory.mktemp("npm")
    for package in sorted({package for package, _ in NPM.values()}):
        packed = call(npm, "pack", "--silent", package, cwd=packages, home=packages).split()[-1]
        with tarfile.open(packages / packed) as archive:
            for name, (source, path) in NPM.items():
                if source == package:
                    content = archive.extractfile(f"package/{path}")
                    (vendor / name).write_bytes(content.read())
    for name, text in STAND_IN.items():
        (vendor / name).write_text(text)
    index = site / "index.html"
    index.write_text(localize(index.read_text(), "vendor"))

    class Quiet(http.server.SimpleHTTPRequestHandler):
        def log_message(self, *_):
            pass

    handler = functools.partial(Quiet, directory=str(site))
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        yield f"http://127.0.0.1:{server.server_port}/index.html"
        server.shutdown()
        thread.join()


@pytest.fixture(scope="module")
def browser(tmp_path_factory):
    webdriver = pytest.importorskip("selenium.webdriver")
    driver = shutil.which("chromedriver")
    if not driver:
        pytest.skip("chromedriver is not installed")
    options = webdriver.ChromeOptions()
    for argument in ("--headless=new", "--no-sandbox", "--disable-gpu", "--window-size=1400,1000"):
        options.add_argument(argument)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
    service = webdriver.ChromeService(executable_path=driver)
    chrome = webdriver.Chrome(options=options, service=service)
    chrome.set_page_load_timeout(60)
    yield chrome
    chrome.quit()


def wait_for(browser, script, what):
    from selenium.webdriver.support.ui import WebDriverWait

    return WebDriverWait(browser, 30).until(lambda b: b.execute_script(script), what)


def test_three_commits_are_in_the_site(site):
    index = json.loads((site / "index.json").read_text())
    assert len(index["revision_to_hash"]) == 3
    assert {BENCHMARK, f"{BENCHMARK}_out"} <= set(index["benchmarks"])


def test_the_grid_shows_every_benchmark(browser, address):
    browser.get(address)
    script = "return [...document.querySelectorAll('#summarygrid-display a')].map(a => a.href)"
    links = wait_for(browser, script, "no link to a benchmark")
    assert {BENCHMARK, f"{BENCHMARK}_out"} <= {link.partition("#")[2] for link in links}


def test_a_graph_is_drawn(browser, address):
    browser.get(f"{address}#{BENCHMARK}")
    # Coloured pixels of the canvas: the grid and the frame are grey.
    coloured = """
        const canvas = document.querySelector('#main-graph canvas.flot-base');
        if (!canvas || !canvas.width) return 0;
        const {data} = canvas.getContext('2d').getImageData(0, 0, canvas.width, canvas.height);
        let count = 0;
        for (let i = 0; i < data.length; i += 4) {
            const spread = Math.max(data[i], data[i + 1], data[i + 2])
                         - Math.min(data[i], data[i + 1], data[i + 2]);
            if (data[i + 3] > 128 && spread > 60) ++count;
        }
        return count;
    """
    assert wait_for(browser, coloured, "the canvas stays empty") > 500
    script = """
        const series = jQuery('#main-graph').data('plot').getData();
        return series.map(s => s.data.filter(point => point[1] !== null).length);
    """
    lengths = wait_for(browser, script, "no series")
    assert len(lengths) > 1 and set(lengths) == {3}  # a line a size, a point a commit
    title = browser.execute_script("return document.querySelector('#title').textContent")
    assert BENCHMARK in title
    # Benchmarks that were not run have no data: that those are not found is no error.
    log = [entry for entry in browser.get_log("browser") if entry["source"] != "network"]
    assert not [entry for entry in log if entry["level"] == "SEVERE"]
