/** What every documented answer of every service means. The tables are in support/answers. */
import { describe, expect, it } from 'vitest';
import { providers } from '../../src/providers/index.ts';
import { chatAnswers } from '../support/answers/chat.ts';
import { emailAnswers } from '../support/answers/email.ts';
import { pushAnswers } from '../support/answers/push.ts';
import { smsAnswers } from '../support/answers/sms.ts';
import { kinds, type Row } from '../support/answers/table.ts';
import { type ComplianceCase, exampleOutgoing } from '../support/compliance.ts';
import { chatCases } from '../support/compliance-chat.ts';
import { emailCases } from '../support/compliance-email.ts';
import { pushCases } from '../support/compliance-push.ts';
import { serviceCases } from '../support/compliance-services.ts';
import { smsCases } from '../support/compliance-sms.ts';
import { openScripted } from '../support/smtp-open.ts';
import { openWire } from '../support/wire.ts';

const wire = openWire();
const answers = { ...emailAnswers, ...smsAnswers, ...chatAnswers, ...pushAnswers };
const cases = { ...emailCases, ...chatCases, ...smsCases, ...serviceCases, ...pushCases } as unknown as Record<
  string,
  ComplianceCase
>;
const tables = Object.entries(answers).map(([name, table]) => {
  const rows = [...kinds.map(kind => table[kind]), table.other ?? []].filter(part => typeof part !== 'string');
  return [name, rows.flat() as Row[]] as const;
});

it('every provider has the documented answers of each kind, or says why there are none', () => {
  expect(Object.keys(answers).sort()).toEqual(Object.keys(providers).sort());
  for (const [name, table] of Object.entries(answers)) {
    expect(table.source, name).toMatch(/^(https:|RFC|none: )/);
    for (const kind of kinds) expect(table[kind].length, `${name}, ${kind}`).toBeGreaterThan(0);
  }
});

describe.each(tables.filter(([name]) => cases[name]))('%s', (name, rows) => {
  const suite = cases[name]!;
  it('sent the message if it says so', async () => {
    const { accepted, id } = suite.answers;
    const { outcome } = await wire.send(suite, { reply: accepted });
    expect(outcome).toEqual(id ? { ok: true, id } : { ok: true });
  });

  it('means what each documented answer says', async () => {
    for (const [says, reply, expected] of rows) {
      const { outcome } = await wire.send(suite, { reply: typeof reply === 'function' ? reply() : reply });
      const { reason: _, id: __, ...found } = outcome as { reason?: string; id?: string };
      expect(found, says).toEqual({ ok: false, ...expected });
      if (!outcome.ok) expect(outcome.reason, says).toMatch(/^\d{3}: \S|^\d{3}$/);
    }
  });
});

/** By the command that is answered. */
const smtpReplies: [says: string, verb: string, reply: string, outcome: object][] = [
  ['accepted', '.', '250 2.0.0 Ok: queued as 7', { ok: true }],
  ['too many connections', 'CONNECT', '421 4.7.0 Too many connections', { retry: true }],
  ['too many mails to this recipient', 'RCPT', '450 4.2.1 Too many mails', { retry: true, ofRecipient: true }],
  ['too many mails', 'MAIL', '451 4.7.1 Too many mails', { retry: true }],
  ['a wrong password', 'AUTH', '535 5.7.8 Authentication credentials invalid', { retry: false, denied: true }],
  ['an unknown mailbox', 'RCPT', '550 5.1.1 User unknown', { retry: false, gone: true }],
  ['a domain without mail', 'RCPT', '556 5.1.10 nullMX', { retry: false, gone: true }],
  ['a policy', 'RCPT', '550 5.7.1 Rejected by policy', { retry: false }],
];

it.each(smtpReplies)('an SMTP reply means what it says: %s', async (_, verb, reply, expected) => {
  const credentials = verb === 'AUTH' ? { user: 'acme', password: 'hush' } : {};
  const { sender } = await openScripted(credentials, {
    offers: verb === 'AUTH' ? ['AUTH PLAIN'] : [],
    decide: command => (command.verb === verb ? reply : undefined),
  });
  const { reason: __, id: ___, ...found } = (await sender.send(exampleOutgoing())) as { reason?: string; id?: string };
  expect(found).toEqual({ ok: false, ...expected });
});
