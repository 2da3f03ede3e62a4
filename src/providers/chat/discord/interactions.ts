/** https://discord.com/developers/docs/interactions/receiving-and-responding */
import { createPublicKey, verify } from 'node:crypto';
import { truncate } from '../../chat-text.ts';
import { parseObject, pick } from '../../feedback/payload.ts';
import { checkTime, forged, shortWindowMs } from '../../feedback/signatures.ts';
import { jsonResponse, type ShownButton } from '../../interactions.ts';
import { maxCharacters } from '../../limits.ts';
import type { Interactions } from '../../provider.ts';

/** The name under which the command is registered. */
const commandName = 'oncall';
/** Types of interactions and of responses. */
const [ping, commanded, pressed] = [1, 2, 3];
const [pong, message, acknowledged] = [1, 4, 6];
/** The message is shown only to the person who pressed. */
const ephemeral = 64;

/** `publicKey` is 32 bytes in hexadecimal. */
export function discordInteractions(publicKey: string | undefined, anyoneMayAct: boolean): Interactions {
  return {
    where: 'in Discord',
    setup:
      'Enter it in the developer portal, under General Information of the application, as the Interactions Endpoint URL.',
    isReady: publicKey !== undefined,
    anyoneMayAct,
    verify({ headers, bytes }, { now }) {
      if (publicKey === undefined) return forged('the channel has no public key to verify the signature with');
      const time = headers['x-signature-timestamp'];
      const signature = headers['x-signature-ed25519'] ?? '';
      if (!/^[0-9a-f]{128}$/i.test(signature)) return forged('the header X-Signature-Ed25519 is missing or malformed');
      const x = Buffer.from(publicKey, 'hex').toString('base64url');
      const key = createPublicKey({ key: { kty: 'OKP', crv: 'Ed25519', x }, format: 'jwk' });
      const signed = Buffer.concat([Buffer.from(time ?? ''), bytes]);
      if (!verify(null, signed, key, Buffer.from(signature, 'hex')))
        return forged('the header X-Signature-Ed25519 does not match');
      return checkTime(time, now, shortWindowMs);
    },
    read(body) {
      const event = parseObject(body);
      if (event.type === ping) return jsonResponse({ type: pong });
      // The user of an interaction in a server is part of the member.
      const user = event.user ?? (event.member as { user?: unknown } | undefined)?.user;
      const [token, id] = [pick(event, 'data', 'custom_id'), pick(user, 'id')];
      if (event.type === commanded && pick(event, 'data', 'name') === commandName && id !== undefined) {
        const command = { text: pick(event, 'data', 'options', 0, 'value') ?? '', id: pick(event, 'id') ?? '' };
        return { command, addresses: [id], name: pick(user, 'username') ?? id };
      }
      if (event.type !== pressed || token === undefined || id === undefined)
        throw new Error('is neither a ping, nor a pressed button, nor the command /oncall');
      return { token, addresses: [id], name: pick(user, 'username') ?? id };
    },
    answer: async text =>
      jsonResponse(
        text === undefined
          ? { type: acknowledged }
          : {
              type: message,
              data: {
                content: truncate(text, maxCharacters.discord.text),
                flags: ephemeral,
                allowed_mentions: { parse: [] },
              },
            },
      ),
  };
}

/** Returns an action row, https://discord.com/developers/docs/components/reference#button. */
export function toComponents(buttons: readonly ShownButton[]): { components?: object[] } {
  if (buttons.length === 0) return {};
  const [row, button] = [1, 2];
  const [primary, secondary, link] = [1, 2, 5];
  const components = buttons.map(({ label, token, url, isMain }) =>
    token === undefined
      ? { type: button, style: link, label, url }
      : { type: button, style: isMain ? primary : secondary, label, custom_id: token },
  );
  return { components: [{ type: row, components }] };
}
