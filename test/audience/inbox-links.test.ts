/** The links of messages in an inbox, for its recipient and for others. */
import { afterAll, beforeAll, expect, test } from 'vitest';
import { type EngineWorld, joinWorld, type Tenant } from '../support/sink.ts';

let world: EngineWorld;
beforeAll(async () => {
  world = await joinWorld({ BASE_URL: 'https://belfry.test' });
});
afterAll(() => world.close());

const inApp = { slug: 'app', name: 'In the app', type: 'inbox', providers: [{ use: 'inbox' }] };
const ann = { email: 'ann@x.test', first_name: 'Ann' };
const inboxOf = (tenant: Tenant) => `/api/o/${tenant.slug}/u/${ann.email}/inbox/`;

/** Returns the first event with data of an inbox stream that is opened with a key. */
async function readStream(path: string, key: string): Promise<string> {
  const stop = new AbortController();
  const headers = { authorization: `Key ${key}` };
  const response = await fetch(world.service.address + path, { headers, signal: stop.signal });
  let text = '';
  for await (const chunk of response.body!) {
    text += Buffer.from(chunk).toString();
    if (/^data: .*\n\n/m.test(text)) break;
  }
  stop.abort();
  return text;
}

test('links in a message work for its recipient, and not for a key or an account that reads it', async () => {
  const body = '{{ acknowledge_url }} {{ unsubscribe_url }} {{ preferences_url | url_encode }}';
  const actions = [{ name: 'go', label: 'Go', url: '{{ acknowledge_url }}' }];
  const steps = [{ channels: ['app'] }, { after: '1h', unless: 'acknowledged', channels: ['app'] }];
  const linked = { subject: '{{ acknowledge_url }}', body, actions, avatar: '{{ acknowledge_url }}' };
  const tenant = await world.tenant({
    users: [ann],
    channels: [inApp],
    notifications: [{ steps, message: linked }],
  });
  const occurrence = await tenant.trigger();
  await tenant.until(occurrence, 'sent');
  const [{ id, ...shown }] = (await tenant.ask({ path: inboxOf(tenant) })).body as [Record<string, unknown>];
  const { body: issued } = await tenant.post(`/api/o/${tenant.slug}/u/${ann.email}/token/`);
  const own = await tenant.ask({ path: inboxOf(tenant), key: issued.token });
  const [, live] = /acknowledge\/([\w.-]+)/.exec(own.body[0].title) ?? [];
  expect(live).toHaveLength(own.body[0].title.length - 'https://belfry.test/acknowledge/'.length);

  const changed = await tenant.post(`${inboxOf(tenant)}${id}/read/`);
  const viewer = { name: 'viewer', permissions: ['inbox:read'] };
  const { body: created } = await tenant.post(`/api/o/${tenant.slug}/k/`, viewer);
  const streamed = await readStream(`${inboxOf(tenant)}stream/?last_event_id=0`, created.key);
  const { body: history } = await tenant.ask({
    path: `/api/o/${tenant.slug}/occurrence/${occurrence}/deliveries/${id}/message/`,
  });
  for (const text of [shown, changed.body, streamed, history].map(one => JSON.stringify(one))) {
    expect(text).toContain('https://belfry.test/acknowledge/preview');
    expect(text).not.toMatch(/[\w-]{43}/);
  }
  const post = (token: string) => fetch(`${world.service.address}/acknowledge/${token}`, { method: 'POST' });
  await post('preview');
  expect(await tenant.occurrence(occurrence)).toMatchObject({ acknowledged_at: null });
  await post(live!);
  expect(await tenant.occurrence(occurrence)).toMatchObject({ acknowledged_by: ann.email });
});
