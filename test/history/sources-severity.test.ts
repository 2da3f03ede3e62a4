/** An alert becomes more serious than its occurrence was so far, or a more serious one joins it. */
import { afterAll, beforeAll, expect, test } from 'vitest';
import { alert, group, occurrencesOf, openSource } from '../support/alert-source.ts';
import { eventually } from '../support/eventually.ts';
import { type EngineWorld, joinWorld, type Tenant, type TenantInput } from '../support/sink.ts';

let world: EngineWorld;
beforeAll(async () => {
  world = await joinWorld();
});
afterAll(async () => {
  await world.checkLedger();
  await world.close();
});

type Fields = Record<string, unknown>;

const steps = [{ channels: ['hooks'] }, { after: '1h', unless: 'acknowledged', channels: ['hooks'] }];
const message = { subject: '{{ user.email }}', body: '{{ severity }} {{ key }}' };
const critical = (key: string, status?: string) => alert(key, status, { severity: 'critical' });

const grouped = { group_by: ['labels.alertname'] };

async function open(fields: Fields = {}, input: TenantInput = { notifications: [{ steps, message }] }) {
  const { tenant, post } = await openSource(world, fields, input);
  const texts = () => tenant.received().map(({ text }) => text.trim());
  const occurrence = (id: string) => `/api/o/${tenant.slug}/occurrence/${id}/`;
  return {
    tenant,
    post,
    received: (...expected: string[]) => eventually(() => expect(texts()).toEqual(expected)),
    acknowledge: async () => {
      for (const { id } of (await occurrencesOf(tenant)).filter(({ resolved }) => !resolved))
        expect((await tenant.post(`${occurrence(id)}acknowledge/`)).status).toBe(200);
    },
    responses: async (id: string) => {
      const { body } = await tenant.ask({ path: `${occurrence(id)}responses/` });
      return body.map(({ kind, by }: Fields) => `${kind} ${by}`);
    },
    messages: (id: string) => messagesOf(tenant, occurrence(id)),
  };
}

/** Returns the messages as the history shows them, oldest first. */
async function messagesOf(tenant: Tenant, occurrence: string): Promise<string[]> {
  const { body } = await tenant.ask({ path: `${occurrence}deliveries/` });
  const ids = body.map(({ id }: { id: number }) => id).sort((a: number, b: number) => a - b);
  return Promise.all(
    ids.map(async (id: number) =>
      (await tenant.ask({ path: `${occurrence}deliveries/${id}/message/` })).body.text.trim(),
    ),
  );
}

test('a higher severity opens an acknowledged occurrence again, with the context of now; the same one does not', async () => {
  const { tenant, post, received, acknowledge, responses, messages } = await open();
  await post(group(alert('a')));
  await received('warning a');
  await acknowledge();
  await post(group(alert('a')));
  expect(await occurrencesOf(tenant)).toMatchObject([{ triggers: 2, acknowledged: true }]);
  await post(group(critical('a')));
  const [row, ...others] = await occurrencesOf(tenant);
  expect([row, others]).toMatchObject([{ triggers: 3, acknowledged: false, resolved: false }, []]);
  await received('warning a', 'critical a');
  expect(await responses(row!.id)).toEqual(['acknowledged API key test', 'severity_rose source prom']);
  // What was sent before is shown as it was.
  expect(await messages(row!.id)).toEqual(['warning a', 'critical a']);
  await acknowledge();
  await Promise.all([post(group(critical('a'))), post(group(critical('a'))), post(group(alert('a')))]);
  expect(await occurrencesOf(tenant)).toMatchObject([{ triggers: 6, acknowledged: true }]);
  await post(group(critical('a', 'resolved')));
  expect(await occurrencesOf(tenant)).toMatchObject([{ resolved: true }]);
});

test('a more serious alert opens its acknowledged group again; others only join it', async () => {
  const { tenant, post, received, acknowledge } = await open(grouped);
  await post(group(alert('a')));
  await received('warning a');
  await acknowledge();
  await post(group(alert('b')));
  expect(await occurrencesOf(tenant)).toMatchObject([{ triggers: 2, acknowledged: true }]);
  await post(group(alert('c'), critical('d'), critical('e')));
  await received('warning a', 'critical d');
  expect(await occurrencesOf(tenant)).toMatchObject([{ triggers: 5, acknowledged: false }]);
  await acknowledge();
  await post(group(critical('f'), alert('a'), alert('g')));
  expect(await occurrencesOf(tenant)).toMatchObject([{ triggers: 8, acknowledged: true }]);
});

test('in an open group, it begins the steps of notifications that apply only now; others go on', async () => {
  const notifications = [
    { name: 'all', steps, message: { ...message, body: 'all {{ severity }}' } },
    { name: 'phone', steps, filter: "severity == 'critical'", message: { ...message, body: 'phone {{ severity }}' } },
  ];
  const { tenant, post, received, responses } = await open(grouped, { notifications });
  await post(group(alert('a')));
  await received('all warning');
  await post(group(critical('b')));
  await received('all warning', 'phone critical');
  const [{ id } = { id: '' }] = await occurrencesOf(tenant);
  expect(await responses(id)).toEqual(['severity_rose source prom']);
  const waiting = await tenant.sql(
    `select notification_id from steps where occurrence_id = $1 and status = 'waiting' and organization_id = ${tenant.id}`,
    id,
  );
  expect(waiting).toHaveLength(2);
});

test('without steps, which can run again, another occurrence takes its place with all of its alerts', async () => {
  const { tenant, post, received, acknowledge } = await open(grouped, { notifications: [{ message }] });
  await post(group(alert('a'), alert('b')));
  await received('warning a');
  await acknowledge();
  await post(group(critical('c')));
  await received('warning a', 'critical c');
  expect(await occurrencesOf(tenant)).toMatchObject([{ resolved: true }, { resolved: false, acknowledged: false }]);
  await post(group(critical('c', 'resolved'), alert('a', 'resolved')));
  expect(await occurrencesOf(tenant)).toMatchObject([{ resolved: true }, { resolved: false }]);
  await post(group(alert('b', 'resolved')));
  expect(await occurrencesOf(tenant)).toMatchObject([{ resolved: true }, { resolved: true }]);
});
