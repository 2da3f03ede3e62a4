/**
 * Nothing in a context notifies anyone in a chat, or changes how a message is structured, whatever field it is in.
 *
 * @module-tag sweep
 */
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { Button } from '../../src/core/message/buttons.ts';
import { addNote } from '../../src/core/render/note.ts';
import { breakMentions } from '../../src/providers/chat-text.ts';
import { providers } from '../../src/providers/index.ts';
import { bodyOf, chatJudges, isWithin } from '../support/chat-judges.ts';
import { type ComplianceCase, exampleId } from '../support/compliance.ts';
import { chatCases } from '../support/compliance-chat.ts';
import { serviceCases } from '../support/compliance-services.ts';
import { render } from '../support/render.ts';
import { openWire } from '../support/wire.ts';

const wire = openWire();
const cases = { ...chatCases, ...serviceCases } as unknown as Record<string, ComplianceCase>;
const chatMedia = ['slack', 'teams', 'discord', 'telegram', 'chat'];

const mentions = [
  ...['@all', '@channel', '@here', '@everyone', '@room', '@jane', '@Jane.Doe', '@dev-team', '@jane:acme.test', '＠all'],
  ...['@**all**', '@_**Jane|17**', '@*devs*', '<!channel>', '<!here|here>', '<!subteam^S012AB3CD>', '<@U012AB3CD>'],
  ...['<#C012AB3CD>', '<@&81234>', '<@81234>', '<@all>', '<@personEmail:j@x.test|J>', '<users/all>', '<users/1>'],
  ...['<a href="tg://user?id=1">x</a>', '<at>Jane</at>', '&#64;all', '&#x40;here', '&commat;channel', '\\@all'],
  ...['https://a.test/@all', 'https://a.test/?q=@all', 'https://@here', 'jane@acme.test', '/poll x', '/me waves'],
];
const breakouts = [
  ...['[x](https://evil.test)', '![x](https://evil.test)', '](https://evil.test)', '<https://evil.test|x>', '</b><b>'],
  ...['<script>', '"><img src=x>', '`', '```', '**', '__', '~~', '|', '> ', '# ', '- ', '1. ', '===', '---', '\\'],
];
const joints = [
  '',
  ' ',
  '\n',
  '\n\n',
  '\r\n',
  '\t',
  '\u200b',
  '\u200d',
  '\u2060',
  '\u00a0',
  'a',
  '7',
  '_',
  '.',
  ':',
  '@',
  '(',
];
const piece = fc.oneof(fc.constantFrom(...mentions), fc.constantFrom(...breakouts), fc.constantFrom(...joints));
const hostile = fc
  .array(piece, { minLength: 1, maxLength: 6 })
  .map(pieces => pieces.join(''))
  .filter(text => text.trim() !== '');

const message = {
  subject: 'Order {{ v }}{{ w }}',
  body: 'Hello {{ v }}{{ w }}, **{{ v }}** and [page](https://acme.test/p)\n\n- {{ w }}\n\n`{{ v }}`',
};

/** Sends the message and changes it, with these values in every field, and returns what the service received. */
async function sendWith(name: string, v: string, w: string) {
  const suite = cases[name]!;
  const peer = wire.peer();
  peer.seen.length = 0;
  peer.reply = suite.answers.accepted;
  const { medium } = suite.provider;
  const content = render(message, { medium: medium === 'any' ? 'chat' : medium, scope: { v, w } });
  const buttons: Button[] = [
    { label: `Take ${v}`, token: 't', choice: 'a' },
    { label: `Open ${v}${w}`, url: 'https://acme.test/plan' },
  ];
  const outgoing = wire.toOutgoing(suite, {
    outgoing: { content, buttons, interactionUrl: 'https://belfry.test/i' },
  });
  const sender = wire.open(suite, {
    signing_secret: 's',
    secret_token: 's'.repeat(16),
    public_key: '0'.repeat(64),
  } as never);
  expect(await sender.send(outgoing)).toMatchObject({ ok: true });
  const note = `Acknowledged by ${v}${w}, 10:04`;
  const sent = { ...outgoing, content: addNote(content, note, medium), messageId: suite.answers.id ?? exampleId };
  await sender.update?.({ ...sent, note, change: 'acknowledged' });
  await sender.close();
  return peer.seen.map(bodyOf);
}

it('covers every provider of a chat', () => {
  const chats = Object.values(providers).filter(({ medium }) => chatMedia.includes(medium));
  expect(Object.keys(chatJudges).sort()).toEqual([...chats.map(({ name }) => name), 'apprise'].sort());
});

describe.each(Object.entries(chatJudges))('%s', (name, { rings, marks, frame = () => undefined }) => {
  it('notifies no one and keeps its structure, whatever a context contains', async () => {
    const harmless = await sendWith(name, 'Jane', 'Doe');
    await fc.assert(
      fc.asyncProperty(hostile, hostile, async (v, w) => {
        const bodies = await sendWith(name, v, w);
        expect(bodies.flatMap(rings)).toEqual([]);
        expect(bodies.map(frame)).toEqual(harmless.map(frame));
        for (const [i, body] of bodies.entries()) {
          expect(isWithin(marks(body), marks(harmless[i])), JSON.stringify(marks(body))).toBe(true);
        }
      }),
      { numRuns: 60 },
    );
  });
});

it('an @ that mentions no one stays as it is', () => {
  const text = 'jane@acme.test, mailto:jane@acme.test, https://jane@acme.test/x?to=jane@acme.test';
  expect(breakMentions(text)).toBe(text);
  expect(breakMentions('see https://a.test/@jane/7 by @jane')).toBe('see https://a.test/%40jane/7 by @\u200bjane');
});
