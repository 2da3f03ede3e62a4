/** Texts are cut at the limit of each service, and not before it. */
import { expect, it } from 'vitest';
import { maxBytes, maxCharacters } from '../../src/providers/limits.ts';
import { bodyOf } from '../support/chat-judges.ts';
import { chatCases } from '../support/compliance-chat.ts';
import { serviceCases } from '../support/compliance-services.ts';
import { smsCases } from '../support/compliance-sms.ts';
import { openWire } from '../support/wire.ts';

const wire = openWire();
const long = 'x'.repeat(70_000);
// biome-ignore lint/suspicious/noExplicitAny: bodies are of any shape
type Read = (body: any) => string;
type Case = Parameters<typeof wire.send>[0];
const cases = { ...chatCases, ...serviceCases, ...smsCases } as unknown as Record<string, Case>;

const inBytes = new Set(['google-chat', 'matrix', 'webex', 'ntfy']);
const cut: Record<string, [limit: number, read: Read]> = {
  twilio: [maxCharacters.twilio.text, ({ Body }) => Body],
  vonage: [maxCharacters.vonage.text, ({ text }) => text],
  plivo: [maxCharacters.plivo.text, ({ text }) => text],
  sinch: [maxCharacters.sinch.text, ({ body }) => body],
  whatsapp: [maxCharacters.whatsapp.text, ({ text }) => text.body],
  slack: [maxCharacters.slack.text, ({ text }) => text],
  'slack-webhook': [maxCharacters.slack.text, ({ text }) => text],
  'discord-webhook': [maxCharacters.discord.text, ({ content }) => content],
  'discord-bot': [maxCharacters.discord.text, ({ content }) => content],
  'telegram-bot': [maxCharacters.telegram.text, ({ text }) => text],
  mattermost: [maxCharacters.mattermost.text, ({ message }) => message],
  rocketchat: [maxCharacters.rocketchat.text, ({ text }) => text],
  zulip: [maxCharacters.zulip.text, ({ content }) => content],
  pushover: [maxCharacters.pushover.text, ({ message }) => message],
  opsgenie: [maxCharacters.opsgenie.description, ({ description }) => description],
  'google-chat': [maxBytes.googleChat.text, ({ text }) => text],
  matrix: [maxBytes.matrix.text, ({ body }) => body],
  webex: [maxBytes.webex.text, ({ markdown }) => markdown],
  ntfy: [maxBytes.ntfy.text, ({ message }) => message],
};

it.each(Object.entries(cut))('%s gets as much of a text as it accepts', async (name, [limit, read]) => {
  const { seen, outcome } = await wire.send(cases[name]!, { content: { title: '', text: long } });
  expect(outcome).toMatchObject({ ok: true });
  const text = read(bodyOf(seen));
  expect(inBytes.has(name) ? Buffer.byteLength(text) : text.length).toBe(limit);
  expect(text.endsWith('…')).toBe(true);
});

it('Amazon SNS gets as much of a text as it accepts', async () => {
  const { seen } = await wire.send(smsCases.sns, { content: { text: long } });
  expect(new URLSearchParams(seen.body).get('Message')).toHaveLength(maxCharacters.sns.text);
});
