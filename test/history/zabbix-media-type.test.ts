/** The media type of Zabbix: its script runs as in Zabbix, and posts to a source. */
import { runInNewContext } from 'node:vm';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { parse } from 'yaml';
import { openSource } from '../support/alert-source.ts';
import { type EngineWorld, joinWorld } from '../support/sink.ts';

let world: EngineWorld;
beforeAll(async () => {
  world = await joinWorld();
});
afterAll(async () => {
  await world.checkLedger();
  await world.close();
});

type Fields = Record<string, string>;

interface MediaType {
  parameters: { name: string; value: string }[];
  script: string;
  message_templates: { event_source: string; operation_mode: string }[];
}

/** What Zabbix has for an event in place of macros; it leaves those without a value as they are. */
const macros: Fields = {
  '{EVENT.ID}': '42',
  '{EVENT.SOURCE}': '0',
  '{EVENT.NAME}': 'High "CPU"',
  '{EVENT.NSEVERITY}': '4',
  '{EVENT.TAGSJSON}': '[{"tag":"service","value":"shop"}]',
  '{EVENT.UPDATE.STATUS}': '0',
  '{EVENT.VALUE}': '1',
  '{ALERT.SUBJECT}': 'High "CPU"',
  '{HOST.NAME}': 'web1',
  '{TRIGGER.ID}': '7',
  '{$ZABBIX.URL}': 'https://zabbix.test/',
};

/** Runs the script with the objects that Zabbix gives it. Returns the request that it makes. */
function runScript({ parameters, script }: MediaType, values: Fields, status = 200) {
  const filled = parameters.map(({ name, value }) => [name, { ...macros, ...values }[value] ?? value]);
  const sent = { url: '', body: '', headers: {} as Fields };
  class HttpRequest {
    addHeader(header: string) {
      const [name, value] = header.split(': ') as [string, string];
      sent.headers[name] = value;
    }
    setProxy() {}
    post(url: string, body: string) {
      Object.assign(sent, { url, body });
      return 'the answer';
    }
    getStatus = () => status;
  }
  const scope = { value: JSON.stringify(Object.fromEntries(filled)), HttpRequest, Zabbix: { log: () => {} } };
  const result: unknown = runInNewContext(`(function () { ${script} })()`, scope);
  return { result, ...sent };
}

test('the text of the setup is a media type whose script reports problems, acknowledgements and recoveries', async () => {
  const { tenant, source, post, token } = await openSource(world, { use: 'zabbix', secret: 'sesame' });
  const setups = (await tenant.ask({ path: `${source}setup/` })).body as { name: string; text: string }[];
  const { zabbix_export } = parse(setups.find(({ name }) => name === 'zabbix')!.text);
  expect(zabbix_export).toMatchObject({ version: '6.0', media_types: [{ name: 'Belfry', type: 'WEBHOOK' }] });
  const [mediaType] = zabbix_export.media_types as MediaType[];
  const secret = { YOUR_SECRET: 'sesame' };
  const send = async (values: Fields) => {
    const { result, url, body, headers } = runScript(mediaType!, { ...secret, ...values });
    expect(result).toBe('OK');
    expect(url).toContain(`/in/${token}/`);
    expect((await post(body, { authorization: headers.Authorization! })).status).toBe(200);
  };
  const [state, update] = ['{EVENT.UPDATE.STATUS}', '{EVENT.UPDATE.ACTION}'];
  const occurrence = async () => {
    const [row] = await tenant.sql(
      `select context, acknowledged_at is not null as acknowledged, resolved_at is not null as resolved
       from occurrences where organization_id = ${tenant.id}`,
    );
    return row;
  };
  await send({});
  expect(await occurrence()).toMatchObject({
    acknowledged: false,
    context: {
      ...{ key: '42', title: 'High "CPU"', severity: 'critical', host: 'web1', tags: { service: 'shop' } },
      url: 'https://zabbix.test/tr_events.php?triggerid=7&eventid=42',
    },
  });
  await send({ [state]: '1', [update]: 'commented' });
  expect(await occurrence()).toMatchObject({ acknowledged: false });
  await send({ [state]: '1', [update]: 'acknowledged and commented', '{USER.FULLNAME}': 'Ann' });
  expect(await occurrence()).toMatchObject({ acknowledged: true, resolved: false });
  await send({ '{EVENT.VALUE}': '0' });
  expect(await occurrence()).toMatchObject({ resolved: true });
  // Zabbix sends again what throws.
  expect(() => runScript(mediaType!, {}, 503)).toThrow('Belfry answered 503: the answer');
  expect(() => runScript(mediaType!, { '{EVENT.SOURCE}': '1' })).toThrow('triggers, services and internal events');
});
