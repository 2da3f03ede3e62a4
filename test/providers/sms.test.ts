/** The wire formats of the SMS providers, and their error codes. */
import { describe, expect, it } from 'vitest';
import { providers } from '../../src/providers/index.ts';
import { checkEntry } from '../../src/providers/provider.ts';
import { whatsappError } from '../support/answers/sms.ts';
import { account, chatCases } from '../support/compliance-chat.ts';
import { smsCases } from '../support/compliance-sms.ts';
import { json, openWire } from '../support/wire.ts';

const { twilio, vonage } = chatCases;
const wire = openWire();
const basic = (text: string) => `Basic ${Buffer.from(text).toString('base64')}`;

describe('twilio', () => {
  it('receives a form with the number, the sender and the text', async () => {
    const { seen } = await wire.send(twilio, { content: { title: 'not sent', text: 'Paid: 100 % & more + ü' } });
    expect([seen.method, seen.path]).toEqual(['POST', `/2010-04-01/Accounts/${account}/Messages.json`]);
    expect(seen.headers.authorization).toBe(basic(`${account}:hush-token`));
    expect(seen.headers['content-type']).toBe('application/x-www-form-urlencoded');
    expect(Object.fromEntries(new URLSearchParams(seen.body))).toEqual({
      To: '+15555550123',
      From: '+15555550100',
      Body: 'Paid: 100 % & more + ü',
    });
  });

  it('accepts an API key, and sends from a messaging service', async () => {
    const key = `SK${'f'.repeat(32)}`;
    const service = `MG${'e'.repeat(32)}`;
    const { seen } = await wire.send(twilio, { settings: { api_key_sid: key, from: service } });
    expect(seen.path).toContain(account);
    expect(seen.headers.authorization).toBe(basic(`${key}:hush-token`));
    const form = new URLSearchParams(seen.body);
    expect([form.get('MessagingServiceSid'), form.has('From')]).toEqual([service, false]);
  });

  it('treats a sender name that begins like a messaging service as a name', async () => {
    const { seen } = await wire.send(twilio, { settings: { from: 'MGM' } });
    expect(new URLSearchParams(seen.body).get('From')).toBe('MGM');
  });

  const problem = (status: number, code: number) => json(status, { code, message: 'No luck', status });

  it.each([
    [21211, 'is no number'],
    [21610, 'has unsubscribed'],
    [21614, 'gets no text messages'],
    [21635, 'is a landline'],
  ])('gives up the address after %d: it %s', async code => {
    const { outcome } = await wire.send(twilio, { reply: problem(400, code) });
    expect(outcome).toEqual({ ok: false, retry: false, gone: true, reason: `400: ${code} No luck` });
  });

  it.each([
    [400, 21408, 'the region is not switched on'],
    [400, 21612, 'no route from this sender'],
    [401, 20003, 'the token is wrong'],
  ])('keeps the address after %d %d: %s', async (status, code) => {
    const { outcome } = await wire.send(twilio, { reply: problem(status, code) });
    expect(outcome).toMatchObject({ ok: false, retry: false, reason: `${status}: ${code} No luck` });
    expect(outcome).not.toHaveProperty('gone');
  });

  it('is retried after a rate limit', async () => {
    expect((await wire.send(twilio, { reply: problem(429, 20429) })).outcome).toMatchObject({ ok: false, retry: true });
  });
});

describe('vonage', () => {
  it('receives a request of its Messages API, with numbers without plus', async () => {
    const { seen } = await wire.send(vonage, { settings: { from: '+447700900001' } });
    expect([seen.method, seen.path]).toEqual(['POST', '/v1/messages']);
    expect(seen.headers.authorization).toBe(basic('abcd1234:hush-secret'));
    expect(seen.headers['content-type']).toBe('application/json');
    expect(JSON.parse(seen.body)).toEqual({
      message_type: 'text',
      channel: 'sms',
      to: '447700900000',
      from: '447700900001',
      text: 'Hello Jane',
      client_ref: '01890a5d-ac96-774b-bcce-b302099a8057',
    });
  });

  const problem = (status: number, code: string) =>
    json(status, {
      type: `https://developer.vonage.com/api-errors/messages#${code}`,
      title: 'No luck',
      detail: 'Sorry.',
    });

  it.each([
    ['1050', 'is barred'],
    ['1430', 'is not a mobile number'],
  ])('gives up the address after %s: it %s', async code => {
    const { outcome } = await wire.send(vonage, { reply: problem(422, code) });
    expect(outcome).toEqual({ ok: false, retry: false, gone: true, reason: '422: No luck: Sorry.' });
  });

  it.each(['1000', '1030', '1100'])('is retried after %s, whatever the status', async code => {
    expect((await wire.send(vonage, { reply: problem(422, code) })).outcome).toMatchObject({ ok: false, retry: true });
  });

  it('treats an empty balance as permanent, so that another provider is used', async () => {
    const reply = json(402, { type: 'https://developer.vonage.com/api-errors#low-balance', title: 'Low balance' });
    const { outcome } = await wire.send(vonage, { reply });
    expect(outcome).toEqual({ ok: false, retry: false, reason: '402: Low balance' });
  });
});

describe('Amazon SNS', () => {
  it('receives a signed form with the attributes of the message', async () => {
    const { seen } = await wire.send(smsCases.sns, { content: { text: 'Paid: 100 % & more + ü' } });
    expect([seen.method, seen.path]).toEqual(['POST', '/']);
    expect(Object.fromEntries(new URLSearchParams(seen.body))).toEqual({
      Action: 'Publish',
      Version: '2010-03-31',
      PhoneNumber: '+15555550123',
      Message: 'Paid: 100 % & more + ü',
      'MessageAttributes.entry.1.Name': 'AWS.SNS.SMS.SMSType',
      'MessageAttributes.entry.1.Value.DataType': 'String',
      'MessageAttributes.entry.1.Value.StringValue': 'Transactional',
      'MessageAttributes.entry.2.Name': 'AWS.SNS.SMS.SenderID',
      'MessageAttributes.entry.2.Value.DataType': 'String',
      'MessageAttributes.entry.2.Value.StringValue': 'Acme',
    });
    expect(seen.headers.authorization).toMatch(
      /^AWS4-HMAC-SHA256 Credential=AKIAEXAMPLEEXAMPLE\/\d{8}\/eu-central-1\/sns\/aws4_request, SignedHeaders=.*host.*, Signature=[0-9a-f]{64}$/,
    );
    expect(seen.headers['x-amz-security-token']).toBe('hush-session');
  });
});

describe('an HTTP gateway', () => {
  const gateway = smsCases['sms-gateway'];
  const hostile = 'a"}],\r\nx: y {secret} &to=1 ü';

  it('gets values in the encoding of their place, so that none changes the request', async () => {
    const { peer } = wire;
    const settings = { url: `${peer().url}/send/{text}?to={to}`, headers: { 'x-text': '{text}' } };
    const { seen } = await wire.send(gateway, { settings, content: { text: hostile } });
    expect(seen.path).toBe(`/send/${encodeURIComponent(hostile)}?to=%2B15555550123`);
    expect(seen.headers['x-text']).toBe('a"}], x: y {secret} &to=1');
    expect(JSON.parse(seen.body)).toEqual({ to: '+15555550123', from: 'Acme', text: hostile });
    const form = await wire.send(gateway, { settings: { format: 'form' }, content: { text: hostile } });
    expect(Object.fromEntries(new URLSearchParams(form.seen.body))).toEqual({
      to: '+15555550123',
      from: 'Acme',
      text: hostile,
    });
    const text = await wire.send(gateway, { settings: { format: 'text', body: '{to}: {text}' } });
    expect(text.seen.body).toBe('+15555550123: Hello Jane');
  });

  it('can be a GET without a body', async () => {
    const settings = { method: 'GET' as const, url: `${wire.peer().url}/?q={text}&key={secret}` };
    const { seen } = await wire.send(gateway, { settings });
    expect([seen.method, seen.path, seen.body]).toEqual(['GET', '/?q=Hello%20Jane&key=hush-key', '']);
  });

  it('is not called with a body that is not JSON', async () => {
    const { outcome, all } = await wire.send(gateway, { settings: { body: '{"text":{text}}' } });
    expect(outcome).toMatchObject({ ok: false, retry: false, reason: expect.stringContaining('not valid JSON') });
    expect(all).toEqual([]);
  });

  it.each([
    ['url', 'https://{to}/x'],
    ['url', 'https://me:{secret}@acme.test/'],
    ['headers', { host: 'x.test' }],
    ['headers', { 'x-a': 'b\r\nc: d' }],
    ['id_path', 'a..b'],
  ])('is refused with %s %j', (field, value) => {
    const entry = { ...gateway.settings('https://acme.test'), use: 'sms-gateway', [field]: value };
    expect(checkEntry(providers, entry, 'sms')[0]?.field).toMatch(new RegExp(`^${field}`));
  });
});

describe('a call', () => {
  const call = smsCases['twilio-voice'];
  const twimlOf = async (outgoing: object) => {
    const { seen } = await wire.send(call, { outgoing });
    return new URLSearchParams(seen.body).get('Twiml')!;
  };

  it('speaks the language of the recipient, with nothing in the text read as markup', async () => {
    const content = { title: '', text: 'Hi <b> &\u0000 "you"', missing: [] };
    expect(await twimlOf({ locale: 'de', content })).toContain(
      '<Response><Say language="de-DE">Hi &lt;b&gt; &amp; &quot;you&quot;</Say></Response>',
    );
    expect(await twimlOf({ locale: 'pt-PT', content })).toContain('language="pt-PT"');
    expect(await twimlOf({ locale: 'xx', content })).toContain('language="en-US"');
  });

  it('asks for a key if there is something to acknowledge', async () => {
    const acknowledgeUrl = 'https://b.test/acknowledge/t';
    const content = { title: '', text: 'Fire', missing: [] };
    expect(await twimlOf({ acknowledgeUrl, content, locale: 'fr' })).toContain(
      '<Gather numDigits="1" timeout="10" method="POST" action="https://b.test/acknowledge/t/call"><Say language="fr-FR">Fire</Say><Say language="fr-FR">Appuyez sur 1 pour confirmer.</Say></Gather>',
    );
    expect(await twimlOf({ acknowledgeUrl, content, locale: 'it' })).toContain(
      '<Say language="it-IT">Fire</Say><Say language="en-US">Press 1 to acknowledge.</Say>',
    );
  });

  it('is shortened to what Twilio accepts', async () => {
    const content = { title: '', text: '&'.repeat(5_000), missing: [] };
    expect(Buffer.byteLength(await twimlOf({ content }))).toBeLessThanOrEqual(4_000);
  });
});

describe('WhatsApp', () => {
  const { whatsapp } = smsCases;
  const messageOf = async (content: object, settings = {}) => {
    const { template, type } = JSON.parse((await wire.send(whatsapp, { content, settings })).seen.body);
    return { template, type };
  };
  const parameter = (text: string) => ({ type: 'text', text });

  it('gets the template and the parameters that the message names', async () => {
    const data = { template: 'order_paid', language: 'de', parameters: ['7', 1.5, 'a\n\tb', ''] };
    expect(await messageOf({ data })).toEqual({
      type: 'template',
      template: {
        name: 'order_paid',
        language: { code: 'de' },
        components: [{ type: 'body', parameters: ['7', '1.5', 'a b', '-'].map(parameter) }],
      },
    });
    expect((await messageOf({ data: { template: 'hello' } })).template).toEqual({
      name: 'hello',
      language: { code: 'en_US' },
    });
  });

  it('gets any other message in the template of the settings', async () => {
    expect((await messageOf({}, { template: 'notice', language: 'en' })).template).toMatchObject({
      name: 'notice',
      components: [{ parameters: [parameter('Order 7 is paid Hello Jane')] }],
    });
  });

  it('says what to do when the 24 hours are over', async () => {
    const { outcome } = await wire.send(whatsapp, { reply: whatsappError(400, 131_047) });
    expect(outcome).toMatchObject({ reason: expect.stringMatching(/24 hours.*template/) });
  });
});
