/** Opens a sender of the SMTP provider and a server for it; both are closed after the test. */
import type { Static } from 'typebox';
import { expect, onTestFinished } from 'vitest';
import { shapeErrors } from '../../src/core/configuration/shape.ts';
import { createOutbound } from '../../src/lib/network/outbound.ts';
import { smtp } from '../../src/providers/email/smtp/smtp.ts';
import type { Sender, Tools } from '../../src/providers/sending.ts';
import { openSmtpPeer, type SmtpPeer, type SmtpPeerOptions } from './smtp.ts';
import { openSmtpScript, type SmtpScript, type SmtpScriptOptions } from './smtp-script.ts';

export type Settings = Static<typeof smtp.settings>;

const loopback = ['127.0.0.0/8', '::1/128'];

export async function open(
  settings: Partial<Settings> = {},
  options: SmtpPeerOptions = {},
  allow = loopback,
): Promise<{ peer: SmtpPeer; sender: Sender }> {
  const peer = await openSmtpPeer(options);
  onTestFinished(() => peer.close());
  return { peer, sender: openSender({ port: peer.port, ...settings }, allow) };
}

/** Opens a sender with settings of an earlier version, which are not checked. */
export async function openStored(settings: Partial<Settings>): Promise<{ peer: SmtpPeer; sender: Sender }> {
  const peer = await openSmtpPeer();
  onTestFinished(() => peer.close());
  return { peer, sender: openSender({ port: peer.port, ...settings }, loopback, { isStored: true }) };
}

export async function openScripted(
  settings: Partial<Settings> = {},
  options: SmtpScriptOptions = {},
  tools: Partial<Tools> = {},
): Promise<{ server: SmtpScript; sender: Sender }> {
  const server = await openSmtpScript(options);
  const sender = openSender({ host: '127.0.0.1', port: server.port, ...settings }, loopback, { tools });
  // Closed before the sender, which may wait for replies that will not come.
  onTestFinished(() => server.close());
  return { server, sender };
}

function openSender(
  settings: Partial<Settings>,
  allow: string[],
  { isStored = false, tools = {} }: { isStored?: boolean; tools?: Partial<Tools> } = {},
): Sender {
  const outbound = createOutbound({ allow });
  const given = { host: 'localhost', from: 'Acme <no-reply@acme.test>', starttls: 'never', ...settings };
  if (!isStored) expect(shapeErrors(smtp.settings, given)).toEqual([]);
  const sender = smtp.open(given as Settings, { outbound, ...tools });
  onTestFinished(async () => {
    await sender.close();
    await outbound.close();
  });
  return sender;
}
