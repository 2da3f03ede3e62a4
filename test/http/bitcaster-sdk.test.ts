/**
 * Runs the unmodified Python client of existing applications, from PyPI, against the service.
 *
 * @module-tag sweep
 */
import { execFile } from 'node:child_process';
import path from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { Service } from '../../src/app.ts';
import { installPython } from '../support/python.ts';
import { type Tenants, testTenants } from '../support/tenants.ts';

const run = promisify(execFile);
const client = 'bitcaster-sdk==0.4';
const installed = await installPython(client);
const missing = 'missing' in installed ? installed.missing : undefined;
const python = 'bin' in installed ? path.join(installed.bin, 'python') : '';

let service: Service;
let tenants: Tenants;
beforeAll(async () => {
  ({ service, tenants } = await testTenants());
});
afterAll(() => service.stop());

/** Returns the JSON that the program prints. */
async function python3(program: string): Promise<unknown> {
  const bae = `${service.address.replace('://', `://${tenants.acme.keys.all}@`)}/api/o/acme/`;
  const start = `
import json, warnings
warnings.simplefilter("ignore")
import logging
logging.disable(logging.CRITICAL)
from bitcaster_sdk import *
from bitcaster_sdk.client import Client
client = Client(${JSON.stringify(bae)})
def show(value):
    print(json.dumps(value))
`;
  const { stdout } = await run(python, ['-c', start + program], { timeout: 60_000 });
  return JSON.parse(stdout);
}

// The name says why it was skipped.
describe.skipIf(missing)(missing ?? client, () => {
  test.each<[string, string, unknown]>([
    ['ping', 'show(client.ping())', { token: 'acme all' }],
    ['projects', 'show([p["slug"] for p in client.list_projects()])', expect.arrayContaining(['shop'])],
    ['applications', 'show([a["slug"] for a in client.list_applications("shop")])', expect.arrayContaining(['web'])],
    ['events', 'show([e["slug"] for e in client.list_events("shop", "web")])', expect.arrayContaining(['order-paid'])],
    ['users', 'show([u["username"] for u in client.list_users()])', expect.arrayContaining(['jane@acme.test'])],
    [
      'lists and their members',
      `found = client.list_distribution_lists("shop")
show([found[0]["name"], sorted(client.list_members("shop", found[0]["id"])[0].keys())])`,
      [expect.any(String), expect.arrayContaining(['address', 'channel', 'id', 'user'])],
    ],
    [
      'a user who is added and updated',
      `client.add_user("py@acme.test", "Py", "Thon", {"a": 1})
show(client.update_user("py@acme.test", "Py", "Three", {"b": 2}, "MERGE"))`,
      expect.objectContaining({ last_name: 'Three', custom_fields: { a: 1, b: 2 } }),
    ],
    [
      'a trigger, with a correlation id',
      'show(client.trigger("shop", "web", "order-paid", {"order": "A-1"}, {}, "cid-1"))',
      { occurrence: expect.any(String) },
    ],
    [
      'a trigger of the domain that was set',
      `client.set_domain("shop", "web")
show(client.trigger_event("order-paid", context={"order": "A-2"}))`,
      { occurrence: expect.any(String) },
    ],
    [
      'somebody who is registered with an application, and unregistered',
      `made = client.register_user("shop", "web", "reg@acme.test", "Reg", "Ister", custom_fields={"plan": "pro"},
    addresses=[{"value": "+15555550188", "name": "phone", "assign_to_preferred_channel": True}])
gone = client.unregister_user("shop", "web", "reg@acme.test")
show([made["created"], made["membership"]["custom_fields"], len(made["assignments"]), gone])`,
      [true, { plan: 'pro' }, 1, { deleted: 1 }],
    ],
    [
      'refusals, as its own exceptions',
      `from bitcaster_sdk.exceptions import *
def name_of(call):
    try:
        call()
    except Exception as error:
        return type(error).__name__
show([
    name_of(lambda: client.trigger("shop", "web", "no-such-event")),
    name_of(lambda: client.trigger("shop", "web", "order-paid", {}, {"priorty": "urgent"})),
    name_of(lambda: Client(client.bae.replace("bf_", "xx_")).ping()),
])`,
      ['EventNotFoundError', 'ValidationError', 'AuthenticationError'],
    ],
  ])('%s', async (_, program, expected) => {
    expect(await python3(program)).toEqual(expected);
  });
});
