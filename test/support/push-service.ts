/** The push service of a browser, which has no certificate that anyone trusts, and what the browser reads. */
import { createDecipheriv, createPublicKey, diffieHellman, hkdfSync } from 'node:crypto';
import { once } from 'node:events';
import { createServer } from 'node:https';
import type { AddressInfo } from 'node:net';
import { expect } from 'vitest';
import { certificate, certificateKey } from './certificate.ts';
import { createBrowser } from './compliance-chat.ts';

export interface PushService {
  /** As `PushSubscription.toJSON()` returns it. */
  subscription: { endpoint: string; keys: { p256dh: string; auth: string } };
  /** What has arrived, decrypted, oldest first. */
  messages: string[];
  close(): void;
}

export async function openPushService(): Promise<PushService> {
  const browser = createBrowser();
  const messages: string[] = [];
  const server = createServer({ cert: certificate, key: certificateKey }, async (request, response) => {
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk as Buffer);
    messages.push(decryptPush(browser, Buffer.concat(chunks)));
    response.writeHead(201).end();
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const endpoint = `https://127.0.0.1:${(server.address() as AddressInfo).port}/push/1`;
  return {
    subscription: JSON.parse(browser.subscribe(endpoint)),
    messages,
    close() {
      server.closeAllConnections();
      server.close();
    },
  };
}

export function toPublicKey(point: Buffer) {
  const [x, y] = [point.subarray(1, 33), point.subarray(33, 65)].map(part => part.toString('base64url'));
  return createPublicKey({ key: { kty: 'EC', crv: 'P-256', x, y }, format: 'jwk' });
}

/** Decrypts a message by RFC 8291 and RFC 8188 with nothing but the browser's keys. */
export function decryptPush(browser: ReturnType<typeof createBrowser>, body: Buffer): string {
  const salt = body.subarray(0, 16);
  const recordSize = body.readUInt32BE(16);
  const sender = body.subarray(21, 21 + body[20]!);
  const record = body.subarray(21 + body[20]!);
  expect(record.length).toBeLessThanOrEqual(recordSize);
  const shared = diffieHellman({ privateKey: browser.privateKey, publicKey: toPublicKey(sender) });
  const info = Buffer.concat([Buffer.from('WebPush: info\0'), browser.point, sender]);
  const secret = Buffer.from(hkdfSync('sha256', shared, browser.auth, info, 32));
  const key = Buffer.from(hkdfSync('sha256', secret, salt, 'Content-Encoding: aes128gcm\0', 16));
  const nonce = Buffer.from(hkdfSync('sha256', secret, salt, 'Content-Encoding: nonce\0', 12));
  const decipher = createDecipheriv('aes-128-gcm', key, nonce);
  decipher.setAuthTag(record.subarray(-16));
  const plain = Buffer.concat([decipher.update(record.subarray(0, -16)), decipher.final()]);
  // The last record ends with the byte 2, followed by zeros.
  const end = plain.lastIndexOf(2);
  expect([...plain.subarray(end + 1)].every(byte => byte === 0)).toBe(true);
  return plain.subarray(0, end).toString('utf8');
}
