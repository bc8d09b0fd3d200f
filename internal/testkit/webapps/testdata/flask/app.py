"""A web app in Flask that tells of itself in the shapes of brakit's SDK for Python."""

import json
import os
import time
import traceback
import urllib.request
import uuid

import flask

app = flask.Flask(__name__)


def flawed(name):
    with open(os.environ["FLAWS"]) as f:
        return name in f.read().split("\n")


def tell(kind, **data):
    """Has an event sent when the request has ended, in the form of a batch with a version."""
    now = time.time() * 1000
    data.update(id=uuid.uuid4().hex, parent_request_id=None, timestamp=now)
    data["parentRequestId"] = flask.g.id
    flask.g.events.append({"type": kind, "requestId": flask.g.id, "timestamp": now, "data": data})


@app.before_request
def before():
    flask.g.id = flask.request.headers.get("X-Brakit-Request-Id") or uuid.uuid4().hex
    flask.g.events = []


@app.teardown_request
def after(error):
    if error is not None:
        tell("error", name=type(error).__name__, message=str(error), stack=traceback.format_exc())
    batch = {"_brakit": True, "version": 1, "sdk": "brakit-python/test", "events": flask.g.events}
    if not flask.g.events:
        return
    address = "http://localhost:%s/__brakit/api/ingest" % os.environ["BRAKIT_PORT"]
    request = urllib.request.Request(address, json.dumps(batch).encode(), {"Content-Type": "application/json"})
    urllib.request.urlopen(request, timeout=2).read()


def query(sql, rows):
    tell("db.query", driver="sqlalchemy", sql=sql, operation="SELECT", table="items", durationMs=1.5, rowCount=rows)


@app.get("/healthz")
def well():
    return "well"


@app.get("/high-rows")
def high_rows():
    query("SELECT name FROM items", 250 if flawed("high-rows") else 20)
    return flask.jsonify(items=20)


@app.get("/n1")
def n1():
    for item in range(8 if flawed("n1") else 1):
        query("SELECT name FROM items WHERE id = %d" % item, 1)
    return flask.jsonify(items=8)


@app.get("/error")
def error():
    query("SELECT name FROM items LIMIT 1", 1)
    if flawed("error"):
        raise ValueError("no item 17")
    return flask.jsonify(items=1)


@app.get("/sensitive-logs")
def sensitive_logs():
    secret = "token=a-token-of-somebody" if flawed("sensitive-logs") else "token=[REDACTED]"
    tell("log", level="info", message="login with " + secret)
    return flask.jsonify(ok=True)


@app.errorhandler(500)
def failed(_):
    return flask.jsonify(message="Something went wrong."), 500


if __name__ == "__main__":
    app.run("127.0.0.1", int(os.environ["PORT"]))
