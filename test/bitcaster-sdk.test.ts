/** The Python client that existing applications use, unchanged from PyPI, against the real service. */
import { execFile } from 'node:child_process';
import { existsSync } from 'node:fs';
import { mkdir, rm, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { Service } from '../src/app.ts';
import { testService } from './support/database.ts';
import { root } from './support/process.ts';
import { buildTenants, type Tenants } from './support/tenants.ts';

const run = promisify(execFile);
const client = 'bitcaster-sdk==0.4';
const home = path.join(root, 'node_modules/.cache/bitcaster-sdk-0.4');
const python = path.join(home, 'bin/python');

/** Why it cannot be had here; undefined when it is installed. */
async function install(): Promise<string | undefined> {
  if (existsSync(path.join(home, 'installed'))) return undefined;
  try {
    await rm(home, { recursive: true, force: true });
    await mkdir(path.dirname(home), { recursive: true });
    await run('python3', ['-m', 'venv', home], { timeout: 120_000 });
    const quiet = ['--quiet', '--disable-pip-version-check', '--no-input', '--retries', '1', '--timeout', '20'];
    await run(python, ['-m', 'pip', 'install', ...quiet, client], { timeout: 180_000 });
    await writeFile(path.join(home, 'installed'), '');
    return undefined;
  } catch (error) {
    return `${client} cannot be installed here: ${(error as Error).message.split('\n')[0]}`;
  }
}

const missing = await install();

let service: Service;
let tenants: Tenants;
beforeAll(async () => {
  service = await testService({ BELFRY_ROLE: 'api' });
  tenants = await buildTenants(service.runtime.deps);
});
afterAll(() => service.stop());

/** What the program prints as JSON. */
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
