# SPDX-License-Identifier: BSD-2-Clause
"""A headless Chromium for tests, by the DevTools protocol over a pipe; nothing but Python's own library.

    with browser.Page("file:///tmp/x.html", width=1200, height=800) as page:
        page.js("document.title")           the value of an expression; a promise is awaited
        page.click(100, 200)                with the mouse; also move(), tap()
        page.key("ArrowDown"), page.type("text")
        page.screenshot("/tmp/x.png")
        assert page.requests == ["file:///tmp/x.html"] and not page.complaints

What the page asked the network for is in page.requests, what the console or an uncaught exception said
in page.complaints. The browser runs with a profile of its own that is thrown away, and has no network:
every name resolves to nothing. It is started for the first page and serves all of the program's; each page
has a context of its own, which shares nothing with the others but the process.
"""
import atexit
import base64
import json
import os
import select
import shutil
import subprocess
import sys
import tempfile
import time

import judges
import leftovers

FLAGS = ["--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run",
         "--disable-background-networking", "--disable-component-update", "--disable-sync",
         "--disable-default-apps", "--disable-extensions", "--hide-scrollbars",
         "--host-resolver-rules=MAP * ~NOTFOUND", "--remote-debugging-pipe"]
# The protocol wants descriptors 3 and 4. PR_SET_CHILD_SUBREAPER: what it starts stays below it.
LAUNCH = """
import ctypes, fcntl, os, sys
*pipes, command = int(sys.argv[1]), int(sys.argv[2]), sys.argv[3:]
ctypes.CDLL(None).prctl(36, 1, 0, 0, 0)
pipes = [fcntl.fcntl(pipe, fcntl.F_DUPFD, 10) for pipe in pipes]
os.dup2(pipes[0], 3)
os.dup2(pipes[1], 4)
os.execv(command[0], command)
"""
SECONDS = judges.HANGS  # without an answer
KEYS = {"Enter": ("Enter", 13, "\r"), "Escape": ("Escape", 27, None), "Backspace": ("Backspace", 8, None),
        "ArrowUp": ("ArrowUp", 38, None), "ArrowDown": ("ArrowDown", 40, None), "Home": ("Home", 36, None),
        "ArrowLeft": ("ArrowLeft", 37, None), "ArrowRight": ("ArrowRight", 39, None),
        "Tab": ("Tab", 9, None)}


def path():
    """Where Chromium is; None: not installed."""
    return shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")


class Browser:
    """The process, and messages to and from it: JSON texts that end in a NUL."""

    def __init__(self):
        self.folder = tempfile.mkdtemp(prefix="cprof-browser-")
        commands, self.to = os.pipe()
        self.replies, answers = os.pipe()
        self.process = subprocess.Popen(
            [sys.executable, "-IS", "-c", LAUNCH, str(commands), str(answers), path(), *FLAGS,
             f"--user-data-dir={self.folder}", "about:blank"],
            stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
            pass_fds=(commands, answers), env={**os.environ, "HOME": self.folder})
        os.close(commands)
        os.close(answers)
        leftovers.outliving.add(self.process.pid)
        self.text = b""
        self.number = 0
        self.pages = {}  # by their sessions

    def close(self):
        os.close(self.to)
        try:
            self.process.wait(10)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
        os.close(self.replies)
        leftovers.outliving.discard(self.process.pid)
        shutil.rmtree(self.folder, ignore_errors=True)

    def receive(self, deadline):
        """The next message; None: none came in time."""
        while b"\0" not in self.text:
            left = deadline - time.monotonic()
            if left <= 0 or not select.select([self.replies], [], [], left)[0]:
                return None
            data = os.read(self.replies, 1 << 20)
            if not data:
                raise AssertionError("the browser has gone")
            self.text += data
        message, self.text = self.text.split(b"\0", 1)
        return json.loads(message)

    def call(self, method, session=None, **parameters):
        self.number += 1
        message = {"id": self.number, "method": method, "params": parameters}
        if session:
            message["sessionId"] = session
        data = json.dumps(message).encode() + b"\0"
        while data:
            data = data[os.write(self.to, data):]
        deadline = time.monotonic() + SECONDS
        while (reply := self.receive(deadline)) is not None:
            if reply.get("id") == self.number:
                assert "error" not in reply, f"{method}: {reply['error']}"
                return reply["result"]
            self.event(reply)
        raise AssertionError(f"{method}: no answer within {SECONDS} s")

    def event(self, message):
        """It is for a page that is open, or for nobody."""
        page = self.pages.get(message.get("sessionId"))
        if page and "method" in message:
            page.event(message["method"], message["params"])

    def listen(self, seconds):
        """Takes what comes within that time."""
        deadline = time.monotonic() + seconds
        while (message := self.receive(deadline)) is not None:
            self.event(message)


browsers = []  # the one that there is, if any


def shared():
    """The browser of this program: started when it is first asked for, or has died meanwhile."""
    if browsers and browsers[0].process.poll() is not None:
        browsers.pop().close()
    if not browsers:
        browsers.append(Browser())
    return browsers[0]


@atexit.register
def close_browser():
    while browsers:
        browsers.pop().close()


class Page:
    """One page."""

    def __init__(self, url, width=1280, height=800, dark=False, touch=False, reduced_motion=True):
        self.requests, self.complaints = [], []
        self.loaded = False
        self.browser, self.session = shared(), None
        self.context = self.browser.call("Target.createBrowserContext")["browserContextId"]
        try:
            self.open(url, width, height, dark, touch, reduced_motion)
        except BaseException:
            self.close()
            raise

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    def close(self):
        self.browser.pages.pop(self.session, None)
        if self.browser.process.poll() is None:
            self.browser.call("Target.disposeBrowserContext", browserContextId=self.context)

    def open(self, url, width, height, dark, touch, reduced_motion):
        target = self.browser.call("Target.createTarget", url="about:blank", browserContextId=self.context)["targetId"]
        self.session = self.browser.call("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        self.browser.pages[self.session] = self
        for domain in ("Page", "Runtime", "Log", "Network"):
            self.call(f"{domain}.enable")
        self.call("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1,
                  mobile=touch)
        self.call("Emulation.setTouchEmulationEnabled", enabled=touch)
        features = [("prefers-color-scheme", "dark" if dark else "light"),
                    ("prefers-reduced-motion", "reduce" if reduced_motion else "no-preference")]
        self.call("Emulation.setEmulatedMedia",
                  features=[{"name": name, "value": value} for name, value in features])
        start = time.monotonic()
        self.call("Page.navigate", url=url)
        while not self.loaded and time.monotonic() < start + SECONDS:
            self.browser.listen(0.02)
        assert self.loaded, f"{url} was not loaded within {SECONDS} s"
        self.seconds_to_load = time.monotonic() - start

    def event(self, method, parameters):
        if method == "Page.loadEventFired":
            self.loaded = True
        elif method == "Network.requestWillBeSent":
            self.requests.append(parameters["request"]["url"])
        elif method == "Runtime.exceptionThrown":
            details = parameters["exceptionDetails"]
            self.complaints.append(details.get("exception", {}).get("description", details["text"]))
        elif method == "Runtime.consoleAPICalled":
            self.complaints.append(" ".join(str(word.get("value")) for word in parameters["args"]))
        elif method == "Log.entryAdded":
            self.complaints.append(parameters["entry"]["text"])

    def call(self, method, **parameters):
        return self.browser.call(method, session=self.session, **parameters)

    def grant(self, *permissions):
        self.browser.call("Browser.grantPermissions", permissions=permissions, browserContextId=self.context)

    def js(self, expression):
        reply = self.call("Runtime.evaluate", expression=expression, returnByValue=True, awaitPromise=True,
                          userGesture=True)
        assert "exceptionDetails" not in reply, f"{expression}: {reply['exceptionDetails']}"
        return reply["result"].get("value")

    def mouse(self, kind, x, y, **more):
        self.call("Input.dispatchMouseEvent", type=kind, x=x, y=y, **more)

    def move(self, x, y):
        self.mouse("mouseMoved", x, y)

    def click(self, x, y, times=1):
        self.move(x, y)
        for time_of in range(1, times + 1):
            for kind in ("mousePressed", "mouseReleased"):
                self.mouse(kind, x, y, button="left", clickCount=time_of)

    def tap(self, x, y):
        self.call("Input.dispatchTouchEvent", type="touchStart", touchPoints=[{"x": x, "y": y}])
        self.call("Input.dispatchTouchEvent", type="touchEnd", touchPoints=[])

    def key(self, key):
        name, code, text = KEYS.get(key, (key, ord(key[0].upper()), key))
        more = {"text": text} if text else {}
        self.call("Input.dispatchKeyEvent", type="keyDown", key=name, windowsVirtualKeyCode=code, **more)
        self.call("Input.dispatchKeyEvent", type="keyUp", key=name, windowsVirtualKeyCode=code)

    def type(self, text):
        self.call("Input.insertText", text=text)

    def settle(self):
        """Until what was begun has been drawn."""
        self.js("new Promise(done => requestAnimationFrame(() => requestAnimationFrame(done)))")

    def screenshot(self, to):
        data = self.call("Page.captureScreenshot", format="png")["data"]
        with open(to, "wb") as file:
            file.write(base64.b64decode(data))
