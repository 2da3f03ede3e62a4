/** https://docs.slack.dev/reference/interaction-payloads/block_actions-payload, and https://docs.slack.dev/authentication/verifying-requests-from-slack */
import { escapeAngles } from '../../../core/text/text.ts';
import { parseObject, pick, readForm } from '../../feedback/payload.ts';
import { checkSignature, checkTime, hmac, shortWindowMs } from '../../feedback/signatures.ts';
import { join } from '../../fields.ts';
import { bearer, field, sendHttp } from '../../http-outcome.ts';
import { answerTimeoutMs, jsonResponse, nothingToSay, type ShownButton } from '../../interactions.ts';
import type { Interaction, Interactions } from '../../provider.ts';

interface SlackApp {
  token: string;
  endpoint: string;
  signing_secret: string | undefined;
  anyone_may_act: boolean;
}

export function slackInteractions({ token, endpoint, signing_secret = '', anyone_may_act }: SlackApp): Interactions {
  return {
    where: 'in Slack',
    setup:
      'Enter it in the settings of the app, under Interactivity & Shortcuts, as the Request URL, and under Slash Commands for /oncall.',
    isReady: signing_secret !== '',
    anyoneMayAct: anyone_may_act,
    verify({ headers, bytes }, { now }) {
      const time = headers['x-slack-request-timestamp'];
      const signed = Buffer.concat([Buffer.from(`v0:${time}:`), bytes]);
      const expected = signing_secret && `v0=${hmac('sha256', signing_secret, signed, 'hex')}`;
      const signature = checkSignature(headers['x-slack-signature'], expected, 'the header X-Slack-Signature');
      return signature.ok ? checkTime(time, now, shortWindowMs) : signature;
    },
    read(body) {
      const form = readForm(body);
      if (form.get('command') !== undefined) return readCommand(form);
      const payload = form.get('payload');
      if (payload === undefined) throw new Error('has no form field payload or command');
      const event = parseObject({ bytes: Buffer.from(payload) });
      const value = pick(event, 'actions', 0, 'value');
      const user = pick(event, 'user', 'id');
      // A button with a link is reported too.
      if (event.type !== 'block_actions' || value === undefined || user === undefined) return nothingToSay;
      const room = pick(event, 'channel', 'id');
      return {
        token: value,
        // No one but its recipient is in a direct message with the bot.
        addresses: [user, ...(room?.startsWith('D') ? [room] : [])],
        name: pick(event, 'user', 'username') ?? pick(event, 'user', 'name') ?? user,
        ...answerAt(pick(event, 'response_url')),
      };
    },
    /** The addresses of users may be the emails of their Slack accounts. */
    async lookUp({ addresses: [user = ''] }, { outbound }) {
      const url = join(endpoint, `/users.info?user=${encodeURIComponent(user)}`);
      const found = await sendHttp(outbound, {
        method: 'GET',
        url,
        ...bearer(token),
        timeoutMs: answerTimeoutMs,
        id: field('user', 'profile', 'email'),
      });
      return found.ok && found.id !== undefined ? [found.id] : [];
    },
    async answer(text, { answerTo, command }, { outbound }) {
      if (command) return jsonResponse({ response_type: 'ephemeral', text: escapeAngles(text ?? '') });
      if (text === undefined || answerTo === undefined) return nothingToSay;
      // What was asked for is done, whether or not the person can be shown an answer.
      await sendHttp(outbound, {
        url: answerTo,
        headers: { 'content-type': 'application/json; charset=utf-8' },
        json: { response_type: 'ephemeral', replace_original: false, text: escapeAngles(text) },
        timeoutMs: answerTimeoutMs,
      });
      return nothingToSay;
    },
  };
}

/** https://docs.slack.dev/interactivity/implementing-slash-commands */
function readCommand(form: ReturnType<typeof readForm>): Interaction {
  const [user, id, room = ''] = [form.get('user_id'), form.get('trigger_id'), form.get('channel_id')];
  if (user === undefined || id === undefined) throw new Error('has no form fields user_id and trigger_id');
  const text = (form.get('text') ?? '').replaceAll('&lt;', '<').replaceAll('&gt;', '>').replaceAll('&amp;', '&');
  return {
    command: { text, id },
    addresses: [user, ...(room.startsWith('D') ? [room] : [])],
    name: form.get('user_name') ?? user,
  };
}

function answerAt(url: string | undefined): { answerTo?: string } {
  return url !== undefined && URL.canParse(url) ? { answerTo: url } : {};
}

/** Returns an actions block, https://docs.slack.dev/reference/block-kit/blocks/actions-block. */
export function toActionsBlock(buttons: readonly ShownButton[]): object {
  return {
    type: 'actions',
    elements: buttons.map(({ label, token, url, isMain }, i) => ({
      type: 'button',
      action_id: `belfry-${i}`,
      text: { type: 'plain_text', text: label },
      ...(token === undefined ? { url } : { value: token }),
      ...(isMain && { style: 'primary' }),
    })),
  };
}
