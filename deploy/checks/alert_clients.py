"""Makes every call of PagerDuty's and Opsgenie's official clients at the address of Belfry: the check `alert-clients` runs it.

A client fails by itself if an answer has another status or form than it expects. What it returns is compared here. Prints the number of
calls of each client.
"""

import datetime
import json
import os
import tempfile

import opsgenie_sdk as og
import pagerduty
import pdpyras

URL = os.environ["BELFRY_URL"]
# This client refuses to send to http.
SECURE_URL = os.environ["BELFRY_SECURE_URL"]
PAGERDUTY_KEY = os.environ["PAGERDUTY_KEY"]
OPSGENIE_KEY = os.environ["OPSGENIE_KEY"]

counts = {}
client = ""


def ask(what, function, expected=None, **arguments):
    """Makes a call and compares its result, or what `expected` picks of it."""
    counts[client] = counts.get(client, 0) + 1
    try:
        result = function(**arguments)
    except Exception as error:
        raise SystemExit(f"{client}: {what} fails: {type(error).__name__}: {error}") from error
    if callable(expected):
        if not expected(result):
            raise SystemExit(f"{client}: {what} returns {result}")
    elif expected is not None and result != expected:
        raise SystemExit(f"{client}: {what} returns {result!r} instead of {expected!r}")
    return result


def is_refused(what, function, error, is_right, **arguments):
    counts[client] = counts.get(client, 0) + 1
    try:
        result = function(**arguments)
    except error as refusal:
        if is_right(refusal):
            return
        raise SystemExit(f"{client}: {what} is refused with {refusal!r}") from refusal
    raise SystemExit(f"{client}: {what} is not refused, and returns {result}")


# ---------------------------------------------------------------------------------------------------------------------

details = {"load": 9, "nested": {"a": [1, None, True]}}
links = [{"href": "https://acme.test/runbook", "text": "Runbook"}]
images = [{"src": "https://acme.test/graph.png"}]


def use_pagerduty(name, events, changes, error, **key_of_change):
    global client
    client = name
    key = f"{name}-disk"
    trigger = {"summary": "Disk full", "source": "db1"}
    generated = ask("trigger", events.trigger, lambda found: len(found) == 32, **trigger)
    ask("resolve", events.resolve, generated, dedup_key=generated)
    more = {"severity": "warning", "custom_details": details, "links": links, "images": images}
    ask("trigger with a key", events.trigger, key, dedup_key=key, **trigger, **more)
    payload = {"component": "sda", "group": "storage", "class": "disk", "timestamp": "2026-11-18T10:00:00Z"}
    ask("trigger again", events.trigger, key, dedup_key=key, **trigger, payload=payload)
    ask("acknowledge", events.acknowledge, key, dedup_key=key)
    ask("resolve", events.resolve, key, dedup_key=key)
    ask("resolve again", events.resolve, key, dedup_key=key)
    ask("acknowledge an unknown key", events.acknowledge, "unknown", dedup_key="unknown")
    sent = {"client": "Monitor", "client_url": "https://acme.test", "payload": {**trigger, "severity": "info"}}
    ask("send_event", events.send_event, "raw", action="trigger", dedup_key="raw", **sent)
    ask("resolve", events.resolve, "raw", dedup_key="raw")
    time = "2026-11-18T10:00:00Z"
    ask("submit", changes.submit, summary="Deployed", source="ci", custom_details=details, links=links, timestamp=time)
    change = {"summary": "Deployed", "timestamp": time}
    ask("send_change_event", changes.send_change_event, payload=change, **key_of_change)
    wrong = lambda refusal: refusal.response.status_code == 400 and "severity" in refusal.response.text
    is_refused("a wrong severity", events.trigger, error, wrong, severity="bad", **trigger)


def old_clients():
    sessions = pdpyras.EventsAPISession(PAGERDUTY_KEY), pdpyras.ChangeEventsAPISession(PAGERDUTY_KEY)
    for session in sessions:
        session.url = URL
    return sessions


use_pagerduty("pdpyras", *old_clients(), pdpyras.PDClientError, routing_key=PAGERDUTY_KEY)
both = pagerduty.EventsApiV2Client(PAGERDUTY_KEY, base_url=SECURE_URL)
use_pagerduty("pagerduty", both, both, pagerduty.HttpError)

# ---------------------------------------------------------------------------------------------------------------------


def use_opsgenie(host):
    configuration = og.Configuration()
    configuration.host = host
    configuration.api_key["Authorization"] = OPSGENIE_KEY
    # A retry would hide what is answered first.
    configuration.retry_count = 1
    api = og.ApiClient(configuration)
    use_alerts(og.AlertApi(api))
    use_heartbeats(og.HeartbeatApi(api))
    configuration = og.Configuration()
    configuration.host = host
    configuration.api_key["Authorization"] = "unknown"
    stranger = og.AlertApi(og.ApiClient(configuration))
    is_refused("an unknown key", stranger.list_alerts, og.exceptions.OpenApiException, lambda refusal: refusal.status == 401)


def use_alerts(alerts):
    alias = "a disk/1"
    by = {"identifier": alias, "identifier_type": "alias"}
    accepted = lambda found: found.result == "Request will be processed" and found.request_id and found.took >= 0

    def act(what, function, status="", is_success=True, **arguments):
        answer = ask(what, function, accepted, **arguments)
        matches = lambda found: found.data.is_success is is_success and found.data.status.startswith(status)
        ask(f"get_request_status of {what}", alerts.get_request_status, matches, request_id=answer.request_id)
        return answer

    create = og.CreateAlertPayload(
        message="Disk full",
        alias=alias,
        description="sda is at 98 %",
        responders=[og.TeamRecipient(name="ops"), og.UserRecipient(username="ann@acme.test")],
        visible_to=[og.TeamRecipient(name="ops")],
        actions=["restart", "grow"],
        tags=["db", "eu"],
        details={"load": "9"},
        entity="db1",
        priority="P2",
        user="monitor",
        note="seen twice",
        source="nagios",
    )
    created = act("create_alert", alerts.create_alert, "Created alert", create_alert_payload=create)
    identifier = ask("the id of create_alert", lambda: created.id, bool)
    same = lambda found: found.data.alias == alias and found.data.message == "Disk full"
    ask("retrieve_resulting_action", created.retrieve_resulting_action, same)
    act("create_alert again", alerts.create_alert, "Alert count", create_alert_payload=create)
    found = ask("get_alert by alias", alerts.get_alert, same, **by).data
    expected = ("P2", 2, {"load": "9"}, ["restart", "grow"], "open", False, "db1", "nagios")
    actual = (
        found.priority, found.count, found.details, found.actions, found.status, found.acknowledged, found.entity, found.source,
    )  # fmt: skip
    if actual != expected:
        raise SystemExit(f"Opsgenie SDK: the alert is {actual} instead of {expected}")
    ask("get_alert by id", alerts.get_alert, same, identifier=identifier)
    ask("get_alert by tiny id", alerts.get_alert, same, identifier=found.tiny_id, identifier_type="tiny")
    ask("list_alerts", alerts.list_alerts, lambda one: one.data[0].alias == alias, query="status:open", limit=5, order="desc")
    ask("count_alerts", alerts.count_alerts, lambda one: one.data.count == 1, query="status:open")

    act("acknowledge_alert", alerts.acknowledge_alert, "Alert acknowledged", **by)
    act("un_acknowledge_alert", alerts.un_acknowledge_alert, "Alert unacknowledged", **by)
    note = og.AcknowledgeAlertPayload(user="ann", note="looking", source="sdk")
    act("acknowledge_alert with a note", alerts.acknowledge_alert, acknowledge_alert_payload=note, **by)
    later = datetime.datetime.now(datetime.timezone.utc) + datetime.timedelta(hours=1)
    snooze = og.SnoozeAlertPayload(end_time=later, user="ann")
    act("snooze_alert", alerts.snooze_alert, "Alert snoozed", snooze_alert_payload=snooze, **by)
    note = og.AddNoteToAlertPayload(note="growing it", user="ann")
    act("add_note", alerts.add_note, add_note_to_alert_payload=note, **by)
    written = lambda found: [(one.note, one.owner) for one in found.data] == [("looking", "ann"), ("growing it", "ann")]
    ask("list_notes", alerts.list_notes, written, **by)
    act("add_tags", alerts.add_tags, add_tags_to_alert_payload=og.AddTagsToAlertPayload(tags=["new"]), **by)
    act("remove_tags", alerts.remove_tags, tags=["eu"], **by)
    more = og.AddDetailsToAlertPayload(details={"more": "x"})
    act("add_details", alerts.add_details, add_details_to_alert_payload=more, **by)
    act("remove_details", alerts.remove_details, keys=["load"], **by)
    message = og.UpdateAlertMessagePayload(message="Disk nearly full")
    act("update_alert_message", alerts.update_alert_message, update_alert_message_payload=message, **by)
    description = og.UpdateAlertDescriptionPayload(description="at 97 %")
    act("update_alert_description", alerts.update_alert_description, update_alert_description_payload=description, **by)
    priority = og.UpdateAlertPriorityPayload(priority="P1")
    act("update_alert_priority", alerts.update_alert_priority, update_alert_priority_payload=priority, **by)
    changed = ask("get_alert", alerts.get_alert, **by).data
    actual = (changed.message, changed.description, changed.priority, changed.tags, changed.details, changed.snoozed)
    expected = ("Disk nearly full", "at 97 %", "P1", ["db", "new"], {"more": "x"}, True)
    if actual != expected:
        raise SystemExit(f"Opsgenie SDK: the alert has become {actual} instead of {expected}")

    # Belfry has no such thing: the request is accepted, and its status says so.
    team, user = og.TeamRecipient(name="ops"), og.UserRecipient(username="ann@acme.test")
    for what, function, payload in [
        ("assign_alert", alerts.assign_alert, {"assign_alert_payload": og.AssignAlertPayload(owner=user)}),
        ("add_responder", alerts.add_responder, {"add_responder_to_alert_payload": og.AddResponderToAlertPayload(responder=team)}),
        ("add_team", alerts.add_team, {"add_team_to_alert_payload": og.AddTeamToAlertPayload(team=team)}),
        ("escalate_alert", alerts.escalate_alert, {"escalate_alert_to_next_payload": og.EscalateAlertToNextPayload(escalation=og.EscalationRecipient(name="ops"))}),
        ("execute_custom_alert_action", alerts.execute_custom_alert_action, {"action_name": "restart"}),
    ]:  # fmt: skip
        act(what, function, is_success=False, **payload, **by)
    ask("list_logs", alerts.list_logs, lambda one: one.data == [], **by)
    ask("list_recipients", alerts.list_recipients, lambda one: one.data == [], **by)
    ask("list_saved_searches", alerts.list_saved_searches, lambda one: one.data == [])
    attached = {"identifier": alias, "alert_identifier_type": "alias"}
    ask("list_attachments", alerts.list_attachments, lambda one: one.data == [], **attached)
    with tempfile.NamedTemporaryFile(suffix=".txt") as file:
        file.write(b"a log")
        file.flush()
        refused("add_attachment", alerts.add_attachment, 422, file=file.name, **attached)
    refused("get_attachment", alerts.get_attachment, 404, attachment_id=1, **attached)
    refused("remove_attachment", alerts.remove_attachment, 404, attachment_id=1, **attached)
    search = {"name": "mine", "query": "status:open", "owner": user}
    refused("create_saved_searches", alerts.create_saved_searches, 422, create_saved_search_payload=og.CreateSavedSearchPayload(**search))
    refused("get_saved_search", alerts.get_saved_search, 404, identifier="mine")
    refused("update_saved_search", alerts.update_saved_search, 404, identifier="mine", update_saved_search_payload=og.UpdateSavedSearchPayload(**search))
    refused("delete_saved_search", alerts.delete_saved_search, 404, identifier="mine")

    act("close_alert", alerts.close_alert, "Alert closed", close_alert_payload=og.CloseAlertPayload(note="done"), **by)
    act("close_alert again", alerts.close_alert, "Alert is already closed", is_success=False, **by)
    act("create_alert without an alias", alerts.create_alert, create_alert_payload=og.CreateAlertPayload(message="Other"))
    other = ask("list_alerts", alerts.list_alerts, query="status:open").data[0]
    act("delete_alert", alerts.delete_alert, "Alert closed", identifier=other.id)
    refused("get_alert of an unknown one", alerts.get_alert, 404, identifier="none", identifier_type="alias")
    refused("create_alert with a wrong alias", alerts.create_alert, 422, create_alert_payload=og.CreateAlertPayload(message="x", alias="x" * 513))
    refused("get_request_status of an unknown one", alerts.get_request_status, 404, request_id="none")


def refused(what, function, status, **arguments):
    """Opsgenie's refusals have a message, and the duration and id of the request."""

    def is_right(refusal):
        body = json.loads(refusal.body)
        return refusal.status == status and body["message"] and body["requestId"] and body["took"] >= 0

    is_refused(what, function, og.exceptions.OpenApiException, is_right, **arguments)


def use_heartbeats(heartbeats):
    payload = og.CreateHeartbeatPayload(
        name="nightly",
        description="A backup",
        interval=2,
        interval_unit="hours",
        enabled=True,
        alert_message="No backup",
        alert_tags=["db"],
        alert_priority="P1",
    )
    created = lambda one: (one.data.name, one.data.enabled) == ("nightly", True)
    ask("create_heartbeat", heartbeats.create_heartbeat, created, create_heartbeat_payload=payload)
    refused("create_heartbeat again", heartbeats.create_heartbeat, 409, create_heartbeat_payload=payload)
    ask("ping", heartbeats.ping, lambda one: one.result == "PONG - Heartbeat received", name="nightly")
    ask("ping of an unknown one", heartbeats.ping, lambda one: one.result == "PONG - Heartbeat received", name="none")
    read = lambda one: (one.data.interval, one.data.interval_unit, one.data.description) == (2, "hours", "A backup")
    ask("get_heartbeat", heartbeats.get_heartbeat, read, name="nightly")
    ask("list_heart_beats", heartbeats.list_heart_beats, lambda one: "nightly" in [each.name for each in one.data.heartbeats])
    change = og.UpdateHeartbeatPayload(interval=5, interval_unit="minutes")
    ask("update_heartbeat", heartbeats.update_heartbeat, created, name="nightly", update_heartbeat_payload=change)
    ask("disable_heartbeat", heartbeats.disable_heartbeat, lambda one: one.data.enabled is False, name="nightly")
    ask("enable_heartbeat", heartbeats.enable_heartbeat, lambda one: one.data.enabled is True, name="nightly")
    ask("delete_heartbeat", heartbeats.delete_heartbeat, lambda one: one.result == "Deleted", name="nightly")
    refused("get_heartbeat of an unknown one", heartbeats.get_heartbeat, 404, name="nightly")


for client, host in [("Opsgenie SDK", URL), ("Opsgenie SDK below Jira's path", f"{URL}/jsm/ops/integration")]:
    use_opsgenie(host)

print(", ".join(f"{name} {count}" for name, count in counts.items()))
