/** Requests against the services' own descriptions of them, with messages at the edges of what they allow. */
import { expect, it } from 'vitest';
import { shapeErrors } from '../../src/core/configuration/shape.ts';
import { providers } from '../../src/providers/index.ts';
import type { Outgoing } from '../../src/providers/sending.ts';
import { type ComplianceCase, exampleOutgoing } from '../support/compliance.ts';
import { chatCases } from '../support/compliance-chat.ts';
import { emailCases } from '../support/compliance-email.ts';
import { pushCases } from '../support/compliance-push.ts';
import { smsCases } from '../support/compliance-sms.ts';
import { documentedRequests } from '../support/documented-requests.ts';
import type { RecordedRequest } from '../support/http-peer.ts';
import { openWire } from '../support/wire.ts';

const wire = openWire();
const cases = { ...emailCases, ...chatCases, ...smsCases, ...pushCases } as unknown as Record<string, ComplianceCase>;

const long = 'Grüße 🎉 <b>&amp;</b> {{x}} @everyone '.repeat(2_000);
const messages: Record<string, Partial<Outgoing>> = {
  plain: {},
  'very long': { content: { title: long.slice(0, 900), text: long, html: `<p>${long}</p>`, missing: [] } },
  'with links and options': {
    unsubscribeUrl: 'https://acme.test/u/1',
    content: {
      title: 'T',
      text: 'B',
      html: '<p>B</p>',
      avatar: 'https://acme.test/i.png',
      actions: [{ name: 'open', label: 'Open', url: 'https://acme.test/7' }],
      missing: [],
    },
  },
  'that is urgent': { urgent: true },
  'with equal tags': { tags: { organization: 'a', event: 'a', notification: 'a'.repeat(300) } },
};

const bodyOf = ({ headers, body }: RecordedRequest) =>
  headers['content-type']?.startsWith('application/json')
    ? JSON.parse(body)
    : Object.fromEntries(new URLSearchParams(body));

it.each(Object.keys(documentedRequests))('%s gets only requests that it documents', async name => {
  const { body, source } = documentedRequests[name]!;
  const suite = cases[name]!;
  expect(suite.provider).toBe(providers[name]);
  for (const [kind, outgoing] of Object.entries(messages)) {
    const { seen, outcome } = await wire.send(suite, {
      outgoing: { ...outgoing, content: outgoing.content ?? exampleOutgoing().content },
    });
    expect(outcome, kind).toMatchObject({ ok: true });
    expect(shapeErrors(body as never, bodyOf(seen)), `${kind}, by ${source}`).toEqual([]);
  }
});
