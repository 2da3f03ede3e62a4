/**
 * The compliance suite of all HTTP providers: the same faults of a real server must lead to the same outcomes. The wire
 * format of a provider is checked in its own tests.
 */
import type { Static, TObject } from 'typebox';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { shapeErrors } from '../../src/core/configuration/shape.ts';
import { createOutbound, type Outbound } from '../../src/lib/network/outbound.ts';
import { type Credential, explainDenied, type Provider } from '../../src/providers/provider.ts';
import type { Outcome, Outgoing, Sender } from '../../src/providers/sending.ts';
import { closedUrl, type HttpPeer, openHttpPeer, type RecordedRequest, type Reply } from './http-peer.ts';

type PlainReply = Exclude<Reply, string>;

export interface ComplianceCase<S extends TObject = TObject> {
  provider: Provider<S>;
  /** Complete, valid settings for a server at this URL, without a timeout. */
  settings: (url: string) => Static<S>;
  /** Recipient address, if it is not an email address. */
  address?: string | ((url: string) => string);
  /** Secrets that must never appear in a reason, in every form in which they are sent. */
  secrets: readonly string[];
  answers: {
    accepted: PlainReply;
    /** Message id of the provider in the outcome; absent if it returns none. */
    id?: string;
    /** A permanent rejection in the provider's format, with this text in it. */
    refused: (words: string) => PlainReply;
    /** A rate limit response that asks to wait 7 seconds. Default: 429 with Retry-After. */
    throttled?: PlainReply;
    /** The documented response to a wrong credential. Default: 401. */
    denied?: PlainReply;
    /** The response to a question for valid credentials; null: the provider's own tests ask. Default: 200 and `{"ok":true}`. */
    checked?: PlainReply | null;
    /** Outcome of a 200 with a garbled body. Default: accepted. */
    garbled?: Partial<Outcome>;
  };
  /** The request for `exampleOutgoing`, compared completely except for headers of the transport. */
  request?: { method?: string; path: string; headers: Record<string, string>; body: unknown };
}

/** Long enough for a busy machine; the test that waits for a timeout sets its own. */
const timeoutMs = 10_000;
const shortTimeoutMs = 500;
const loopback = ['127.0.0.0/8', '::1/128'];

export const exampleId = '01890a5d-ac96-774b-bcce-b302099a8057';

/** Returns a reply with a JSON body. */
export const json = (status: number, body: unknown, headers: Record<string, string> = {}) => ({
  status,
  headers: { 'content-type': 'application/json', ...headers },
  body: JSON.stringify(body),
});

export const base64 = (text: string) => Buffer.from(text).toString('base64');

export function exampleOutgoing(changes: Partial<Outgoing> = {}): Outgoing {
  return {
    id: exampleId,
    address: 'jane@acme.test',
    content: { title: 'Order 7 is paid', text: 'Hello Jane', html: '<p>Hello <b>Jane</b></p>', missing: [] },
    createdAt: new Date('2030-01-02T03:04:05Z'),
    tags: { organization: 'acme', event: 'order-paid', notification: 'Receipt, by mail' },
    ...changes,
  };
}

function outgoingOf(
  { address }: Pick<ComplianceCase, 'address'>,
  url: string,
  changes: Partial<Outgoing> = {},
): Outgoing {
  const at = typeof address === 'function' ? address(url) : address;
  return exampleOutgoing({ ...(at !== undefined && { address: at }), ...changes });
}

/** Sends one message through every provider to a server that never answers: all at once, as each waits for its timeout. */
export async function sendToHangingServer(cases: Record<string, ComplianceCase>): Promise<Record<string, Outcome>> {
  const outbound = createOutbound({ allow: loopback, timeoutMs: shortTimeoutMs });
  const peer = await openHttpPeer('hang');
  const outcomes = await Promise.all(
    Object.entries(cases).map(async ([name, suite]) => {
      const sender = suite.provider.open(suite.settings(peer.url), { outbound });
      const outcome = await sender.send(outgoingOf(suite, peer.url));
      await sender.close();
      return [name, outcome] as const;
    }),
  );
  await outbound.close();
  await peer.close();
  expect(peer.seen).toHaveLength(outcomes.length);
  return Object.fromEntries(outcomes);
}

export function complianceSuite<S extends TObject>(name: string, suite: ComplianceCase<S>): void {
  const { provider, answers } = suite;

  describe(`${name}, as every provider`, () => {
    let peer: HttpPeer;
    let outbound: Outbound;
    let sender: Sender;
    beforeAll(async () => {
      peer = await openHttpPeer();
      outbound = createOutbound({ allow: loopback, timeoutMs });
      sender = provider.open(suite.settings(peer.url), { outbound });
    });
    afterAll(async () => {
      await sender?.close();
      await outbound?.close();
      await peer?.close();
    });
    beforeEach(() => {
      peer.seen.length = 0;
    });

    const outgoing = (url: string, changes: Partial<Outgoing> = {}) => outgoingOf(suite, url, changes);
    const sendTo = (reply: Reply): Promise<Outcome> => {
      peer.reply = reply;
      return sender.send(outgoing(peer.url));
    };

    it('describes its settings and secrets', () => {
      expect(provider.name).toBe(name);
      expect(provider.summary).toMatch(/\.$/);
      expect(shapeErrors(provider.settings, suite.settings(peer.url))).toEqual([]);
    });

    it('sends a message', async () => {
      expect(await sendTo(answers.accepted)).toEqual(answers.id ? { ok: true, id: answers.id } : { ok: true });
      expect(peer.seen).toHaveLength(1);
    });

    it('sends many messages concurrently, each once', async () => {
      peer.reply = answers.accepted;
      const ids = Array.from({ length: 50 }, (_, n) => `id-${n}-x`);
      const outcomes = await Promise.all(ids.map(id => sender.send(outgoing(peer.url, { id }))));
      expect(outcomes.filter(({ ok }) => !ok)).toEqual([]);
      expect(peer.seen).toHaveLength(50);
    });

    if (suite.request) {
      const { method = 'POST', path, headers, body } = suite.request;
      it('sends the documented request', async () => {
        await sendTo(answers.accepted);
        const [seen] = peer.seen;
        expect([seen!.method, seen!.path]).toEqual([method, path]);
        expect(seen!.headers).toMatchObject(headers);
        expect(readBody(seen!)).toEqual(body);
      });
    }

    const wrongCredentials = [{ status: 401, body: 'no' }, ...(answers.denied ? [answers.denied] : [])];

    it('explains rejected credentials, with the settings that hold them', async () => {
      for (const reply of wrongCredentials) {
        const outcome = await sendTo(reply);
        expect(outcome).toMatchObject({ ok: false, denied: true });
        const words = explainDenied(provider as unknown as Provider, {}, reasonOf(outcome));
        expect(words).toContain(
          `${provider.title} rejected the ${(provider.credential as Credential).name} (${reasonOf(outcome)}): `,
        );
        const fields = /Enter the new value in the channel’s settings \(([a-z_, ]+)\)\.$/.exec(words)![1]!.split(', ');
        expect(Object.keys(provider.settings.properties)).toEqual(expect.arrayContaining(fields));
        for (const secret of suite.secrets) expect(words).not.toContain(secret);
      }
    });

    if (provider.check && answers.checked !== null) {
      it('can be asked whether it accepts the credentials, without sending a message', async () => {
        const ask = (reply: Reply) => {
          peer.reply = reply;
          return provider.check!(suite.settings(peer.url), { outbound });
        };
        for (const reply of wrongCredentials) expect(await ask(reply)).toMatchObject({ ok: false, denied: true });
        expect(await ask(answers.checked ?? json(200, { ok: true }))).toMatchObject({ ok: true });
        const paths = new Set(peer.seen.map(({ path }) => path));
        expect(paths.size).toBe(1);
        await sendTo(answers.accepted);
        const { method, path } = peer.seen.at(-1)!;
        expect(peer.seen.slice(0, -1)).not.toContainEqual(expect.objectContaining({ method, path }));
        for (const reply of ['drop', { status: 503 }] as const) expect(await ask(reply)).not.toHaveProperty('denied');
      });
    }

    it('treats a rejection as permanent, with the reason given by the provider', async () => {
      const outcome = await sendTo(answers.refused('the moon is full'));
      expect(outcome).toMatchObject({ ok: false, retry: false });
      expect(outcome).not.toHaveProperty('unknown');
      expect(reasonOf(outcome)).toContain('the moon is full');
    });

    it('shortens a long reason to one line', async () => {
      const reason = reasonOf(await sendTo(answers.refused(`long\n${'word '.repeat(200)}`)));
      expect(reason.length).toBeLessThanOrEqual(300);
      expect(reason).toMatch(/^[^\n]+$/);
    });

    it('never includes a secret in a reason', async () => {
      const sent = await sendTo(answers.accepted).then(() => peer.seen[0]!);
      const echo = [...suite.secrets, ...Object.values(sent.headers).flat(), sent.path].join(' ');
      for (const words of [...suite.secrets.map(secret => `bad key ${secret}`), echo, `${'x'.repeat(290)} ${echo}`]) {
        for (const reply of [answers.refused(words), { status: 401, body: words }, { status: 500, body: words }]) {
          const reason = reasonOf(await sendTo(reply));
          for (const secret of suite.secrets) expect(reason).not.toContain(secret);
        }
      }
    });

    it('waits as long as a rate limit response asks for', async () => {
      const busy = answers.throttled ?? { status: 429, headers: { 'retry-after': '7' } };
      expect(await sendTo(busy)).toMatchObject({ ok: false, retry: true, retryAfterSeconds: 7 });
    });

    it.each([500, 502, 503])('tries again after a %d', async status => {
      const outcome = await sendTo({ status, body: '<html><title>Sorry</title></html>' });
      expect(outcome).toMatchObject({ ok: false, retry: true });
      expect(outcome).not.toHaveProperty('unknown');
    });

    it.each(['drop', 'nonsense'] as const)('does not know what became of a message after %s', async fault => {
      const outcome = await sendTo(fault);
      expect(outcome).toMatchObject({ ok: false, retry: true, unknown: true });
      expect(reasonOf(outcome)).not.toBe('');
      expect(peer.seen).toHaveLength(1);
    });

    it('asks for a retry if the connection was lost before the request was read', async () => {
      expect(await sendTo('reset')).toMatchObject({ ok: false, retry: true });
      expect(peer.seen).toHaveLength(0);
    });

    it('treats 200 with a garbled body as the provider defines it', async () => {
      expect(await sendTo({ status: 200, body: '\u0000<{[not json' })).toMatchObject(answers.garbled ?? { ok: true });
    });

    it('reports that nothing was sent if the server does not listen', async () => {
      const url = await closedUrl();
      const lonely = provider.open(suite.settings(url), { outbound });
      const outcome = await lonely.send(outgoing(url));
      expect(outcome).toMatchObject({ ok: false, retry: true });
      expect(outcome).not.toHaveProperty('unknown');
      await lonely.close();
    });

    it('does not connect to a private address that is not allowed', async () => {
      const strict = createOutbound({ allow: [], timeoutMs });
      const blocked = provider.open(suite.settings(peer.url), { outbound: strict });
      const before = peer.connections;
      expect(await blocked.send(outgoing(peer.url))).toMatchObject({ ok: false, retry: false });
      expect(peer.connections).toBe(before);
      await blocked.close();
      await strict.close();
    });
  });
}

function readBody({ headers, body }: RecordedRequest): unknown {
  const type = headers['content-type'] ?? '';
  if (type.startsWith('application/json')) return JSON.parse(body);
  return type === 'application/x-www-form-urlencoded' ? Object.fromEntries(new URLSearchParams(body)) : body;
}

function reasonOf(outcome: Outcome): string {
  expect(outcome.ok).toBe(false);
  return outcome.ok ? '' : outcome.reason;
}
