/** Standard Webhooks, checked with the library that receivers use. */
import { Webhook } from 'standardwebhooks';
import { describe, expect, it } from 'vitest';
import { shapeErrors } from '../../src/core/configuration/shape.ts';
import { standardWebhooks } from '../../src/providers/webhook/standard-webhooks.ts';
import { chatCases } from '../support/compliance-chat.ts';
import type { RecordedRequest } from '../support/http-peer.ts';
import { openWire } from '../support/wire.ts';

const hooks = chatCases['standard-webhooks'];
const wire = openWire();
const toSecret = (letter: string, bytes = 24) => `whsec_${Buffer.alloc(bytes, letter).toString('base64')}`;
const id = '01890a5d-ac96-774b-bcce-b302099a8057';
const verify = (secret: string, { body, headers }: RecordedRequest) =>
  new Webhook(secret).verify(body, headers as Record<string, string>);

describe('a webhook', () => {
  it('is a JSON POST to the URL in the settings for every recipient', async () => {
    const { seen } = await wire.send(hooks, { content: { data: { order: 7, name: 'Jürgen ✓' } } });
    expect([seen.method, seen.path]).toEqual(['POST', '/hook']);
    expect(seen.headers['content-type']).toBe('application/json');
    expect(seen.body).toBe('{"order":7,"name":"Jürgen ✓"}');
  });

  it('goes to the recipient’s own address if the settings have no URL', async () => {
    const address = `${wire.peer().url}/janes/hook?x=1`;
    const { seen } = await wire.send(hooks, { settings: { url: undefined }, outgoing: { address } });
    expect(seen.path).toBe('/janes/hook?x=1');
  });

  it('contains title and text if there is no other data', async () => {
    expect(JSON.parse((await wire.send(hooks)).seen.body)).toEqual({ title: 'Order 7 is paid', text: 'Hello Jane' });
  });

  it('contains data that is a list, or null', async () => {
    expect((await wire.send(hooks, { content: { data: [1, 2] } })).seen.body).toBe('[1,2]');
    expect((await wire.send(hooks, { content: { data: null } })).seen.body).toBe('null');
  });

  it('is signed, with its own id and the time of the attempt', async () => {
    const secret = toSecret('a');
    const before = Math.floor(Date.now() / 1000);
    const { seen } = await wire.send(hooks, { settings: { secret }, content: { data: { name: 'Jürgen ✓' } } });
    expect(verify(secret, seen)).toEqual({ name: 'Jürgen ✓' });
    expect(seen.headers['webhook-id']).toBe(id);
    expect(Number(seen.headers['webhook-timestamp'])).toBeGreaterThanOrEqual(before);
    expect(Number(seen.headers['webhook-timestamp'])).toBeLessThanOrEqual(Date.now() / 1000);
    expect(seen.headers['webhook-signature']).toMatch(/^v1,[A-Za-z0-9+/]{43}=$/);
    expect(() => verify(toSecret('b'), seen)).toThrow('No matching signature');
    expect(() => verify(secret, { ...seen, body: `${seen.body} ` })).toThrow('No matching signature');
  });

  it('is also signed with the previous secret while receivers switch over', async () => {
    const settings = { secret: toSecret('n'), previous_secret: toSecret('o', 63) };
    const { seen } = await wire.send(hooks, { settings });
    expect(seen.headers['webhook-signature']).toMatch(/^v1,\S+ v1,\S+$/);
    expect(verify(settings.secret, seen)).toEqual(verify(settings.previous_secret, seen));
  });
});

describe('a receiver', () => {
  it('that answers 410 receives nothing more', async () => {
    const { outcome } = await wire.send(hooks, { reply: { status: 410, body: 'no more' } });
    expect(outcome).toEqual({ ok: false, retry: false, gone: true, reason: '410: no more' });
  });

  it('that redirects is not followed', async () => {
    const reply = { status: 307, headers: { location: '/elsewhere' } };
    const { outcome, all } = await wire.send(hooks, { reply });
    expect(outcome).toEqual({ ok: false, retry: false, reason: '307: redirects are not followed' });
    expect(all).toHaveLength(1);
  });

  it.each([401, 403, 404, 409])('that answers %d is retried, as it may be being changed', async status => {
    expect((await wire.send(hooks, { reply: { status } })).outcome).toMatchObject({ ok: false, retry: true });
  });

  it.each([400, 413, 422])('that answers %d has refused the message', async status => {
    expect((await wire.send(hooks, { reply: { status } })).outcome).toMatchObject({ ok: false, retry: false });
  });

  it('with an invalid URL is not retried', async () => {
    const { outcome } = await wire.send(hooks, { settings: { url: undefined }, outgoing: { address: 'jane' } });
    expect(outcome).toEqual({ ok: false, retry: false, reason: 'not an http or https URL' });
  });

  it('can deduplicate messages', () => {
    expect(standardWebhooks.dedupes).toBe(true);
  });
});

describe('a secret', () => {
  const mistakes = (secret: string) => shapeErrors(standardWebhooks.settings, { secret });

  it.each([24, 25, 26, 32, 63, 64])('may have %d bytes', bytes => {
    expect(mistakes(toSecret('x', bytes))).toEqual([]);
  });

  it.each([23, 65, 66])('may not have %d bytes', bytes => {
    expect(mistakes(toSecret('x', bytes))).toMatchObject([{ field: 'secret' }]);
  });

  it('needs its prefix and its padding', () => {
    expect(mistakes(toSecret('x').replace('whsec_', ''))).toMatchObject([{ field: 'secret' }]);
    expect(mistakes(toSecret('x', 25).replace('==', ''))).toMatchObject([{ field: 'secret' }]);
  });
});
