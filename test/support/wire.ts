/** Sends a message through a provider to a real server, and returns the received requests and the outcome. */
import type { Static, TObject } from 'typebox';
import { afterAll, beforeAll } from 'vitest';
import type { Content } from '../../src/core/render/render.ts';
import { createOutbound, type Outbound } from '../../src/lib/network/outbound.ts';
import type { Provider } from '../../src/providers/provider.ts';
import type { Outcome, Outgoing, Sender } from '../../src/providers/sending.ts';
import { type ComplianceCase, exampleOutgoing } from './compliance.ts';
import { type HttpPeer, openHttpPeer, type RecordedRequest } from './http-peer.ts';

type Case<S extends TObject> = { provider: Provider<S> } & Pick<ComplianceCase<S>, 'settings' | 'answers' | 'address'>;

export interface WireOptions<S extends TObject> {
  /** Added to the settings of the case, or replacing them. */
  settings?: Partial<Static<S>>;
  outgoing?: Partial<Outgoing>;
  content?: Partial<Content>;
  reply?: HttpPeer['reply'];
}

export function openWire() {
  let peer: HttpPeer;
  let outbound: Outbound;
  beforeAll(async () => {
    peer = await openHttpPeer();
    outbound = createOutbound({ allow: ['127.0.0.0/8'], timeoutMs: 5_000 });
  });
  afterAll(async () => {
    await outbound?.close();
    await peer?.close();
  });

  const open = <S extends TObject>({ provider, settings }: Case<S>, changes: Partial<Static<S>> = {}): Sender =>
    provider.open({ ...(settings(peer.url) as object), ...changes } as Static<S>, { outbound });

  const toOutgoing = <S extends TObject>(
    { address }: Case<S>,
    { outgoing, content }: WireOptions<S> = {},
  ): Outgoing => {
    const at = typeof address === 'function' ? address(peer.url) : address;
    const plain = { title: 'Order 7 is paid', text: 'Hello Jane', missing: [] };
    return exampleOutgoing({ ...(at && { address: at }), content: { ...plain, ...content }, ...outgoing });
  };

  const send = async <S extends TObject>(
    suite: Case<S>,
    wish: WireOptions<S> = {},
  ): Promise<{ outcome: Outcome; seen: RecordedRequest; all: RecordedRequest[] }> => {
    peer.seen.length = 0;
    peer.reply = wish.reply ?? suite.answers.accepted;
    const sender = open(suite, wish.settings);
    const outcome = await sender.send(toOutgoing(suite, wish));
    await sender.close();
    return { outcome, seen: peer.seen[0]!, all: [...peer.seen] };
  };

  return { send, open, toOutgoing, peer: () => peer };
}

export function json(status: number, body: unknown, headers: Record<string, string> = {}) {
  return { status, headers: { 'content-type': 'application/json', ...headers }, body: JSON.stringify(body) };
}
