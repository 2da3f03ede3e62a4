/** What the compliance cases of chat, push and alerting services leave out. */
import { describe, expect, it } from 'vitest';
import { truncate, truncateBytes } from '../../src/providers/chat-text.ts';
import { serviceCases } from '../support/compliance-services.ts';
import type { RecordedRequest } from '../support/http-peer.ts';
import { render } from '../support/render.ts';
import { json, openWire } from '../support/wire.ts';

const { mattermost, matrix, zulip, webex, ntfy, opsgenie, pagerduty, apprise } = serviceCases;
const wire = openWire();
const bodyOf = (seen: RecordedRequest) => JSON.parse(seen.body);

describe('a message of type chat', () => {
  it('is Markdown in which a value is no markup', () => {
    const { markup, html } = render('Hello **{{ v }}**', { medium: 'chat', scope: { v: '*x* @all @Channel @here' } });
    expect(markup).toBe('Hello **\\*x\\* @all @Channel @here**');
    expect(html).toMatch(/^<p[^>]*>Hello <strong>\*x\* @all @Channel @here<\/strong><\/p>\n$/);
  });
});

describe('truncate', () => {
  it('never splits a character as people see it', () => {
    expect(truncate('Straße', 6)).toBe('Straße');
    expect(truncate('ab👩‍👩‍👧x', 6)).toBe('ab…');
    expect(truncate('ab🇩🇪🇫🇷', 6)).toBe('ab…');
    expect(truncate('abe\u0301x', 4)).toBe('ab…');
    expect(truncate('ab', 0)).toBe('…');
    const pile = truncate(`a${'\u0301'.repeat(200)}`, 100);
    expect(pile).toHaveLength(100);
  });
});

describe('truncateBytes', () => {
  it('keeps what fits, and never splits a character', () => {
    expect(truncateBytes('äöü', 6)).toBe('äöü');
    expect(truncateBytes('äöüx', 6)).toBe('ä…');
    expect(truncateBytes('😀😀', 7)).toBe('😀…');
    expect(truncateBytes('a👩‍👩‍👧x', 10)).toBe('a…');
    expect(truncateBytes('ab', 1)).toBe('…');
  });
});

describe('the room in the settings', () => {
  it('is used by Mattermost instead of an address', async () => {
    const { seen } = await wire.send(mattermost, { settings: { channel_id: 'y'.repeat(26) } });
    expect(bodyOf(seen).channel_id).toBe('y'.repeat(26));
  });

  it('is used by Webex instead of an address', async () => {
    const { seen } = await wire.send(webex, { settings: { room_id: 'r7' } });
    expect(bodyOf(seen)).toMatchObject({ roomId: 'r7' });
    expect(bodyOf(seen)).not.toHaveProperty('toPersonEmail');
  });

  it('is a channel of Zulip, with the title as its topic', async () => {
    const { seen } = await wire.send(zulip, { settings: { channel: 'ops' }, content: { title: 'T'.repeat(80) } });
    const form = Object.fromEntries(new URLSearchParams(seen.body));
    expect(form).toMatchObject({ type: 'stream', to: 'ops', topic: `${'T'.repeat(59)}…` });
    const fixed = await wire.send(zulip, { settings: { channel: 'ops', topic: 'alerts' } });
    expect(new URLSearchParams(fixed.seen.body).get('topic')).toBe('alerts');
  });
});

it('Zulip sends to the ID of a user as a number', async () => {
  const { seen } = await wire.send(zulip, { outgoing: { address: '17' } });
  expect(new URLSearchParams(seen.body).get('to')).toBe('[17]');
});

it('Google Chat cannot be made to mention anyone', async () => {
  const { seen } = await wire.send(serviceCases['google-chat'], { content: { title: '*T*', text: 'Hi <users/all>' } });
  expect(bodyOf(seen).text).toBe('*T*\n\nHi <\u200busers/all>');
});

describe('Matrix', () => {
  it('gets no styles, and only the text if the HTML is too long', async () => {
    const html = '<p style="margin:0">Hi <a class="link" href="https://a.test" style="color:red">x</a></p>';
    const { seen } = await wire.send(matrix, { content: { title: 'a < b', html } });
    expect(bodyOf(seen).formatted_body).toBe(
      '<p><strong>a &lt; b</strong></p><p>Hi <a href="https://a.test">x</a></p>',
    );
    const long = await wire.send(matrix, { content: { html: 'x'.repeat(20_001) } });
    expect(bodyOf(long.seen)).toEqual({
      msgtype: 'm.text',
      body: 'Order 7 is paid\n\nHello Jane',
      'm.mentions': {},
    });
  });

  it('is not asked to send to something that is not a room', async () => {
    const { outcome, all } = await wire.send(matrix, { outgoing: { address: '@jane:acme.test' } });
    expect(outcome).toMatchObject({ ok: false, retry: false, reason: expect.stringContaining('room ID') });
    expect(all).toEqual([]);
  });
});

it('ntfy shows the buttons that open a page, at most three', async () => {
  const link = (name: string) => ({ name, label: name.toUpperCase(), url: `https://a.test/${name}` });
  const actions = [{ name: 'x', label: 'X', event: 'y' }, link('a'), link('b'), link('c'), link('d')];
  const { seen } = await wire.send(ntfy, { content: { actions, avatar: 'https://a.test/i.png' } });
  expect(bodyOf(seen)).toMatchObject({
    icon: 'https://a.test/i.png',
    actions: ['a', 'b', 'c'].map(name => ({
      action: 'view',
      label: name.toUpperCase(),
      url: `https://a.test/${name}`,
    })),
  });
});

describe('an alert', () => {
  const data = { host: 'db-1', load: 0.7, long: 'x'.repeat(9_000) };

  it('has the JSON of the message as details', async () => {
    const { seen } = await wire.send(pagerduty, { content: { data } });
    expect(bodyOf(seen).payload.custom_details).toEqual(data);
    const opsgenieAlert = await wire.send(opsgenie, { content: { data, title: 'T'.repeat(140) } });
    expect(bodyOf(opsgenieAlert.seen)).toMatchObject({
      message: `${'T'.repeat(129)}…`,
      details: { host: 'db-1', load: '0.7' },
    });
    expect(bodyOf(opsgenieAlert.seen).details).not.toHaveProperty('long');
  });

  it('is never without a summary, which PagerDuty requires', async () => {
    const { seen } = await wire.send(pagerduty, { content: { title: '', text: '' } });
    expect(bodyOf(seen).payload.summary).toBe('Belfry');
  });
});

it('Apprise gets text if there is no HTML, and says what a 204 means', async () => {
  const { seen, outcome } = await wire.send(apprise, { reply: { status: 204 } });
  expect(bodyOf(seen)).toMatchObject({ title: 'Order 7 is paid', body: 'Hello Jane', format: 'text' });
  expect(outcome).toMatchObject({ ok: false, reason: '204: there is no configuration with this key' });
  expect((await wire.send(apprise, { reply: json(424, { error: 'one failed' }) })).outcome).toMatchObject({
    reason: '424: one failed',
  });
});

describe('the buttons of an escalation', () => {
  const acknowledgeUrl = 'https://belfry.test/acknowledge/t';
  const buttons = [
    { label: 'Acknowledge', url: acknowledgeUrl, token: 'a-token', choice: 'a' as const },
    { label: 'Resolve', token: 'r-token', choice: 'r' as const },
    { label: 'Plan @all', url: 'https://acme.test/plan' },
  ];

  it('acknowledge from the notification in ntfy, without opening a page', async () => {
    const { seen } = await wire.send(ntfy, { outgoing: { buttons, acknowledgeUrl } });
    expect(bodyOf(seen).actions).toEqual([
      { action: 'http', label: 'Acknowledge', url: acknowledgeUrl, method: 'POST', clear: true },
      { action: 'view', label: 'Plan @all', url: 'https://acme.test/plan' },
    ]);
  });

  it('open pages in Google Chat', async () => {
    const { seen } = await wire.send(serviceCases['google-chat'], {
      outgoing: { buttons },
      content: { text: 'x'.repeat(40_000) },
    });
    const { sections } = bodyOf(seen).cardsV2[0].card;
    expect(sections[0].widgets[0].buttonList.buttons).toEqual([
      { text: 'Acknowledge', onClick: { openLink: { url: acknowledgeUrl } } },
      { text: 'Plan @all', onClick: { openLink: { url: 'https://acme.test/plan' } } },
    ]);
    expect(Buffer.byteLength(seen.body)).toBeLessThan(32_000);
  });

  it('are posted to Belfry by Mattermost, and links follow the text', async () => {
    const { seen } = await wire.send(mattermost, {
      outgoing: { buttons, interactionUrl: 'https://belfry.test/interactions/t/mattermost/' },
    });
    const { message, props } = bodyOf(seen);
    expect(message).toMatch(/\n\n\[Plan @\u200ball\]\(<https:\/\/acme\.test\/plan>\)$/);
    expect(props.attachments[0].actions).toMatchObject([
      { name: 'Acknowledge', style: 'primary', integration: { context: { token: 'a-token' } } },
      { name: 'Resolve', integration: { context: { token: 'r-token' } } },
    ]);
  });
});
