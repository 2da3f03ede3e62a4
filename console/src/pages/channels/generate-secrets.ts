/** Generates secrets in the browser; they are submitted with the form like typed ones. */
import type { Values } from './settings-schema.ts';

type Generate = () => Promise<Values>;

/** Generators by provider; providers that issue their own secrets have none. */
export const generators: Record<string, Generate> = {
  'standard-webhooks': async () => ({ secret: `whsec_${base64(crypto.getRandomValues(new Uint8Array(32)))}` }),
  vapid: async () => {
    const pair = await crypto.subtle.generateKey({ name: 'ECDSA', namedCurve: 'P-256' }, true, ['sign', 'verify']);
    const { d } = await crypto.subtle.exportKey('jwk', pair.privateKey);
    const point = new Uint8Array(await crypto.subtle.exportKey('raw', pair.publicKey));
    return { public_key: base64url(point), private_key: d };
  },
};

function base64(bytes: Uint8Array): string {
  return btoa(String.fromCharCode(...bytes));
}

function base64url(bytes: Uint8Array): string {
  return base64(bytes).replaceAll('+', '-').replaceAll('/', '_').replaceAll('=', '');
}
