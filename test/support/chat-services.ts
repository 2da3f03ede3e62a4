/**
 * The chat and SMS services on loopback. They refuse messages that the real ones would refuse, and post pressed buttons
 * and replies with the real signatures.
 */
import { createHash, createHmac, generateKeyPairSync, sign } from 'node:crypto';
import { type HttpPeer, openHttpPeer, type RecordedRequest, type Reply } from './http-peer.ts';

export interface ShownButton {
  label: string;
  /** What the service returns when it is pressed. */
  token?: string;
  url?: string;
}

export interface ShownMessage {
  service: 'slack' | 'telegram' | 'discord' | 'mattermost' | 'sms' | 'voice';
  /** The channel, chat or number that it was sent to. */
  to: string;
  text: string;
  buttons: ShownButton[];
}

export interface ChatServices {
  peer: HttpPeer;
  messages: ShownMessage[];
  /** Messages that were changed in place: the service and the new text. */
  changed: { service: string; text: string }[];
  /** Texts that were shown to one person in Slack, by the API of answers. */
  slackNotes: string[];
  /** Emails of Slack members, by id. */
  slackEmails: Record<string, string>;
  close(): Promise<void>;
}

const keys = generateKeyPairSync('ed25519');
export const secrets = {
  slack: 'slack-signing-secret',
  telegram: 'telegram_secret_token',
  twilio: 'twilio-auth-token',
  vonage: 'vonage-signature-secret',
  discord: Buffer.from(keys.publicKey.export({ format: 'jwk' }).x!, 'base64url').toString('hex'),
};

const accountSid = `AC${'0'.repeat(32)}`;
const twilioAccount = { account_sid: accountSid, auth_token: secrets.twilio, from: '+15555550100' };

/** Complete channels of these services, with callbacks. */
export function chatChannels(url: string) {
  const channel = (slug: string, type: string, provider: object) => ({
    slug,
    name: slug,
    type,
    providers: [{ ...provider }],
  });
  return {
    slack: channel('slack', 'slack', {
      use: 'slack',
      token: 'xoxb-12345678-token',
      signing_secret: secrets.slack,
      endpoint: `${url}/slack`,
    }),
    telegram: channel('telegram', 'telegram', {
      use: 'telegram-bot',
      token: `123456:${'x'.repeat(30)}`,
      secret_token: secrets.telegram,
      endpoint: `${url}/telegram`,
    }),
    discord: channel('discord', 'discord', {
      use: 'discord-bot',
      token: 'bot-token',
      public_key: secrets.discord,
      endpoint: `${url}/discord`,
    }),
    mattermost: channel('mattermost', 'chat', {
      use: 'mattermost',
      server_url: `${url}/mattermost`,
      token: 'bot-token',
    }),
    twilio: channel('twilio', 'sms', { use: 'twilio', ...twilioAccount, endpoint: url }),
    vonage: channel('vonage', 'sms', {
      use: 'vonage',
      api_key: 'key',
      api_secret: 'secret',
      from: '+15555550100',
      webhook_secret: secrets.vonage,
      endpoint: url,
    }),
    voice: channel('voice', 'voice', { use: 'twilio-voice', ...twilioAccount, endpoint: url }),
  };
}

export async function openChatServices(): Promise<ChatServices> {
  const messages: ShownMessage[] = [];
  const changed: ChatServices['changed'] = [];
  const slackNotes: string[] = [];
  const slackEmails: Record<string, string> = {};
  let count = 0;
  const peer = await openHttpPeer(seen => {
    count++;
    const add = (message: ShownMessage, answer: object): Reply => {
      for (const { label, token, url } of message.buttons) {
        if (label === '' || (token === undefined) === (url === undefined)) return { status: 400, body: 'bad button' };
      }
      messages.push(message);
      return { body: JSON.stringify(answer) };
    };
    const [path = ''] = seen.path.split('?');
    const body = bodyOf(seen);
    const change = (service: string, text: string): Reply => {
      changed.push({ service, text });
      return { body: JSON.stringify({ ok: true }) };
    };
    if (path === '/slack/chat.update') return change('slack', body.text);
    if (path.endsWith('/editMessageText')) return change('telegram', body.text);
    if (seen.method === 'PATCH') return change('discord', body.content);
    if (path.endsWith('/patch')) return change('mattermost', body.message);
    if (path === '/slack/chat.postMessage') return add(readSlack(body), { ok: true, ts: String(count) });
    if (path === '/slack/answer') {
      slackNotes.push(body.text);
      const isPrivate = body.response_type === 'ephemeral' && body.replace_original === false;
      return isPrivate ? { body: 'ok' } : { status: 400 };
    }
    if (path === '/slack/users.info') {
      const email = slackEmails[new URL(seen.path, peer.url).searchParams.get('user')!];
      return { body: JSON.stringify(email ? { ok: true, user: { profile: { email } } } : { ok: false, error: 'x' }) };
    }
    if (path.endsWith('/sendMessage')) return add(readTelegram(body), { ok: true, result: { message_id: count } });
    if (path === '/discord/users/@me/channels') return { body: JSON.stringify({ id: `9${body.recipient_id}` }) };
    if (path.startsWith('/discord/channels/')) return add(readDiscord(path, body), { id: String(count) });
    if (path === '/mattermost/api/v4/posts') return add(readMattermost(body), { id: String(count) });
    if (path === '/v1/messages') {
      return add({ service: 'sms', to: body.to, text: body.text, buttons: [] }, { message_uuid: `m-${count}` });
    }
    const form = new URLSearchParams(seen.body);
    const isCall = path.endsWith('/Calls.json');
    const text = form.get(isCall ? 'Twiml' : 'Body') ?? '';
    return {
      ...(add({ service: isCall ? 'voice' : 'sms', to: form.get('To') ?? '', text, buttons: [] }, {}) as object),
      status: 201,
      body: JSON.stringify({ sid: `S${count}` }),
    };
  });
  return { peer, messages, changed, slackNotes, slackEmails, close: () => peer.close() };
}

// biome-ignore lint/suspicious/noExplicitAny: bodies are checked where they are read
function bodyOf({ body, headers }: RecordedRequest): any {
  return /json/.test(headers['content-type'] ?? '') ? JSON.parse(body) : {};
}

function check(isValid: boolean, what: string): void {
  if (!isValid) throw new Error(`the service refuses ${what}`);
}

// biome-ignore lint/suspicious/noExplicitAny: see above
type Body = any;

function readSlack({ channel, text, blocks = [] }: Body): ShownMessage {
  check(blocks.length <= 50, 'more than 50 blocks');
  const elements = blocks.flatMap((block: Body) => (block.type === 'actions' ? block.elements : []));
  const ids = elements.map((one: Body) => one.action_id);
  check(new Set(ids).size === ids.length, 'equal action ids');
  return {
    service: 'slack',
    to: channel,
    text,
    buttons: elements.map((one: Body) => {
      check(one.type === 'button' && one.text.type === 'plain_text' && one.text.text.length <= 75, 'this button');
      return { label: one.text.text, token: one.value, url: one.url };
    }),
  };
}

function readTelegram({ chat_id, text, reply_markup }: Body): ShownMessage {
  return {
    service: 'telegram',
    to: chat_id,
    text,
    buttons: (reply_markup?.inline_keyboard ?? []).flat().map((one: Body) => {
      check(Buffer.byteLength(one.callback_data ?? '') <= 64, 'more than 64 bytes of callback data');
      return { label: one.text, token: one.callback_data, url: one.url };
    }),
  };
}

function readDiscord(path: string, { content, components = [] }: Body): ShownMessage {
  return {
    service: 'discord',
    to: path.split('/')[3]!,
    text: content,
    buttons: components.flatMap((row: Body) => {
      check(row.type === 1 && row.components.length <= 5, 'this row');
      return row.components.map((one: Body) => {
        check(one.type === 2 && one.label.length <= 80 && (one.custom_id ?? '').length <= 100, 'this button');
        check((one.style === 5) === (one.url !== undefined), 'a link of another style');
        return { label: one.label, token: one.custom_id, url: one.url };
      });
    }),
  };
}

function readMattermost({ channel_id, message, props }: Body): ShownMessage {
  return {
    service: 'mattermost',
    to: channel_id,
    text: message,
    buttons: (props?.attachments ?? [])
      .flatMap((one: Body) => one.actions)
      .map((one: Body) => {
        check(/^[A-Za-z0-9]+$/.test(one.id) && one.type === 'button', 'this action');
        check(URL.canParse(one.integration.url), 'this address');
        return { label: one.name, token: one.integration.context.token };
      }),
  };
}

export interface Posted {
  body: string;
  headers: Record<string, string>;
}

const seconds = (ms: number) => String(Math.floor(ms / 1_000));

function signedBySlack(form: Record<string, string>, at: number, secret: string): Posted {
  const body = new URLSearchParams(form).toString();
  const signature = createHmac('sha256', secret)
    .update(`v0:${seconds(at)}:${body}`)
    .digest('hex');
  return {
    body,
    headers: {
      'content-type': 'application/x-www-form-urlencoded',
      'x-slack-request-timestamp': seconds(at),
      'x-slack-signature': `v0=${signature}`,
    },
  };
}

/** The command /oncall, as the services send it: with the text that follows it, and their id of it. */
export const command = {
  slack(text: string, user: string, { id = `${count++}.1`, at = Date.now(), secret = secrets.slack } = {}): Posted {
    const escaped = text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;');
    const form = {
      ...{ token: 'deprecated', team_id: 'T0001', team_domain: 'acme', channel_id: 'C1', channel_name: 'ops' },
      ...{ user_id: user, user_name: 'ann', command: '/oncall', api_app_id: 'A1', is_enterprise_install: 'false' },
      ...{ response_url: 'https://hooks.slack.test/commands/1', trigger_id: id },
    };
    // Slack leaves mentions as they are, and escapes the rest.
    const mentions = escaped.replace(/&lt;(@[^&]*)&gt;/g, '<$1>');
    return signedBySlack({ ...form, text: mentions }, at, secret);
  },

  telegram(text: string, user: number, { id = count++, at = Date.now(), more = {}, secret = secrets.telegram } = {}) {
    const message = {
      message_id: 7,
      from: { id: user, is_bot: false, first_name: 'Ann' },
      chat: { id: -100_123, type: 'supergroup', title: 'Ops' },
      date: Math.floor(at / 1_000),
      text,
      entities: [{ type: 'bot_command', offset: 0, length: 7 }],
      ...more,
    };
    return {
      body: JSON.stringify({ update_id: id, message }),
      headers: { 'content-type': 'application/json', 'x-telegram-bot-api-secret-token': secret },
    };
  },

  discord(text: string | undefined, user: string, { id = String(count++), at = Date.now() } = {}): Posted {
    const options = text === undefined ? {} : { options: [{ name: 'text', type: 3, value: text }] };
    const data = { id: '771825006014889984', name: 'oncall', type: 1, ...options };
    const member = { user: { id: user, username: 'ann' }, roles: [], permissions: '0' };
    return press.discord(
      { type: 2, id, token: 'interaction-token', guild_id: '3', channel_id: '4', data, member },
      { at },
    );
  },
};

let count = 1_000;

/** Requests of the services, as they sign them. `at` is when they were made. */
export const press = {
  slack(
    token: string,
    user: string,
    { url, at = Date.now(), secret = secrets.slack, room = 'C1' }: SlackPress,
  ): Posted {
    const payload = {
      type: 'block_actions',
      user: { id: user, username: `${user} of Slack` },
      channel: { id: room },
      response_url: `${url}/slack/answer`,
      actions: [{ type: 'button', action_id: 'belfry-0', value: token }],
    };
    return signedBySlack({ payload: JSON.stringify(payload) }, at, secret);
  },

  telegram(token: string, user: number, secret = secrets.telegram): Posted {
    const from = { id: user, is_bot: false, first_name: 'Ann' };
    const callback_query = { id: '4382bfdwdsb323b2d9', from, message: { message_id: 1 }, data: token };
    return {
      body: JSON.stringify({ update_id: 1, callback_query }),
      headers: { 'content-type': 'application/json', 'x-telegram-bot-api-secret-token': secret },
    };
  },

  discord(fields: object, { at = Date.now(), key = keys.privateKey } = {}): Posted {
    const body = JSON.stringify({ id: '1', application_id: '2', version: 1, ...fields });
    const signature = sign(null, Buffer.from(seconds(at) + body), key).toString('hex');
    return {
      body,
      headers: {
        'content-type': 'application/json',
        'x-signature-timestamp': seconds(at),
        'x-signature-ed25519': signature,
      },
    };
  },

  mattermost(token: string, user: string, more: object = {}): Posted {
    const fields = { user_id: user, user_name: 'ann', channel_id: 'c'.repeat(26), team_id: 't'.repeat(26), ...more };
    return {
      body: JSON.stringify({ ...fields, type: '', context: { token } }),
      headers: { 'content-type': 'application/json' },
    };
  },

  /** `url` is the address as it was entered at Twilio. */
  twilio(url: string, form: Record<string, string>, secret = secrets.twilio): Posted {
    const text = Object.keys(form)
      .sort()
      .map(name => name + form[name])
      .join('');
    const signature = createHmac('sha1', secret)
      .update(url + text)
      .digest('base64');
    return {
      body: new URLSearchParams(form).toString(),
      headers: { 'content-type': 'application/x-www-form-urlencoded', 'x-twilio-signature': signature },
    };
  },

  vonage(fields: object, { at = Date.now(), secret = secrets.vonage } = {}): Posted {
    const body = JSON.stringify({
      channel: 'sms',
      message_type: 'text',
      timestamp: new Date(at).toISOString(),
      ...fields,
    });
    const encode = (value: object) => Buffer.from(JSON.stringify(value)).toString('base64url');
    const payload_hash = createHash('sha256').update(body).digest('hex');
    const signed = `${encode({ alg: 'HS256', typ: 'JWT' })}.${encode({ iat: Number(seconds(at)), payload_hash })}`;
    const signature = createHmac('sha256', secret).update(signed).digest('base64url');
    return { body, headers: { 'content-type': 'application/json', authorization: `Bearer ${signed}.${signature}` } };
  },
};

interface SlackPress {
  url: string;
  at?: number;
  secret?: string;
  /** The channel of the message. */
  room?: string;
}
