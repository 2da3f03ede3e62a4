/** Compliance cases of further SMS providers, of calls and of WhatsApp, with the requests and responses of their APIs. */

import { whatsapp } from '../../src/providers/chat/whatsapp.ts';
import { bird } from '../../src/providers/sms/bird.ts';
import { infobip } from '../../src/providers/sms/infobip.ts';
import { plivo } from '../../src/providers/sms/plivo.ts';
import { sinch } from '../../src/providers/sms/sinch.ts';
import { smsGateway } from '../../src/providers/sms/sms-gateway.ts';
import { sns } from '../../src/providers/sms/sns.ts';
import { twilioVoice } from '../../src/providers/voice/twilio-voice.ts';
import { awsError, whatsappError } from './answers/sms.ts';
import { base64, type ComplianceCase, exampleId as id, json } from './compliance.ts';

const type = 'application/json';
const address = '+15555550123';
const uuid = 'a1b2c3d4-0000-4000-8000-000000000000';
const account = `AC${'0123456789abcdef'.repeat(2)}`;
export const smsCases = {
  plivo: {
    provider: plivo,
    settings: url => ({
      auth_id: `MA${'X'.repeat(18)}`,
      auth_token: 'hush-token',
      from: '+15555550100',
      endpoint: url,
    }),
    address,
    secrets: ['hush-token', base64(`MA${'X'.repeat(18)}:hush-token`)],
    answers: {
      accepted: json(202, { message: 'message(s) queued', message_uuid: ['db3ce55a-7f1d'], api_id: 'db342550' }),
      id: 'db3ce55a-7f1d',
      refused: words => json(400, { api_id: 'db342550', error: words }),
    },
    request: {
      path: `/v1/Account/MA${'X'.repeat(18)}/Message/`,
      headers: { authorization: `Basic ${base64(`MA${'X'.repeat(18)}:hush-token`)}`, 'content-type': type },
      body: { src: '+15555550100', dst: address, text: 'Hello Jane' },
    },
  } satisfies ComplianceCase<typeof plivo.settings>,

  sinch: {
    provider: sinch,
    settings: url => ({ service_plan_id: 'plan7', api_token: 'hush-token', from: '+15555550100', endpoint: url }),
    address,
    secrets: ['hush-token'],
    answers: {
      accepted: json(201, { id: '01FC66621XXXXX119Z8PMV1QPQ', to: ['15555550123'], canceled: false }),
      id: '01FC66621XXXXX119Z8PMV1QPQ',
      refused: words => json(400, { code: 'syntax_invalid_parameter_format', text: words }),
    },
    request: {
      path: '/xms/v1/plan7/batches',
      headers: { authorization: 'Bearer hush-token', 'content-type': type },
      body: { from: '+15555550100', to: [address], body: 'Hello Jane', type: 'mt_text', client_reference: id },
    },
  } satisfies ComplianceCase<typeof sinch.settings>,

  infobip: {
    provider: infobip,
    settings: url => ({ base_url: url, api_key: 'hush-key', from: 'Acme' }),
    address,
    secrets: ['hush-key'],
    answers: {
      accepted: json(200, {
        bulkId: 'b',
        messages: [
          {
            messageId: '2250be2d4219',
            status: { groupId: 1, groupName: 'PENDING', id: 26, name: 'PENDING_ACCEPTED', description: 'sent' },
            destination: '15555550123',
          },
        ],
      }),
      id: '2250be2d4219',
      refused: words => json(400, { errorCode: 'E400', description: words, action: 'Check it.', violations: [] }),
    },
    request: {
      path: '/sms/3/messages',
      headers: { authorization: 'App hush-key', accept: type, 'content-type': type },
      body: { messages: [{ sender: 'Acme', destinations: [{ to: '15555550123' }], content: { text: 'Hello Jane' } }] },
    },
  } satisfies ComplianceCase<typeof infobip.settings>,

  bird: {
    provider: bird,
    settings: url => ({ access_key: 'hush-key', workspace_id: uuid, channel_id: uuid, endpoint: url }),
    address,
    secrets: ['hush-key'],
    answers: {
      accepted: json(202, { id: 'e60a6f90', status: 'accepted' }),
      id: 'e60a6f90',
      refused: words => json(422, { code: 'InvalidPayload', message: words }),
    },
    request: {
      path: `/workspaces/${uuid}/channels/${uuid}/messages`,
      headers: { authorization: 'AccessKey hush-key', 'content-type': type },
      body: {
        receiver: { contacts: [{ identifierKey: 'phonenumber', identifierValue: address }] },
        body: { type: 'text', text: { text: 'Hello Jane' } },
      },
    },
  } satisfies ComplianceCase<typeof bird.settings>,

  sns: {
    provider: sns,
    settings: url => ({
      region: 'eu-central-1',
      access_key_id: 'AKIAEXAMPLEEXAMPLE',
      secret_access_key: 'hush/hush+hush',
      session_token: 'hush-session',
      sender_id: 'Acme',
      endpoint: url,
    }),
    address,
    secrets: ['hush/hush+hush', 'hush-session'],
    answers: {
      accepted: {
        headers: { 'content-type': 'text/xml' },
        body: '<PublishResponse xmlns="http://sns.amazonaws.com/doc/2010-03-31/"><PublishResult><MessageId>94f20ce6-13c5</MessageId></PublishResult></PublishResponse>',
      },
      id: '94f20ce6-13c5',
      refused: words => awsError(400, 'InvalidParameter', words),
    },
  } satisfies ComplianceCase<typeof sns.settings>,

  'sms-gateway': {
    provider: smsGateway,
    settings: url => ({
      url: `${url}/send?id={id}`,
      headers: { authorization: 'Bearer {secret}' },
      secret: 'hush-key',
      from: 'Acme',
      success_text: '"ok"',
      id_path: 'messages.0.id',
    }),
    address,
    secrets: ['hush-key'],
    answers: {
      accepted: json(200, { status: 'ok', messages: [{ id: 'm7' }] }),
      id: 'm7',
      refused: words => json(200, { status: 'failed', error: words }),
      garbled: { ok: false, retry: false },
    },
    request: {
      path: `/send?id=${id}`,
      headers: { authorization: 'Bearer hush-key', 'content-type': type },
      body: { to: address, from: 'Acme', text: 'Hello Jane' },
    },
  } satisfies ComplianceCase<typeof smsGateway.settings>,

  'twilio-voice': {
    provider: twilioVoice,
    settings: url => ({ account_sid: account, auth_token: 'hush-token', from: '+15555550100', endpoint: url }),
    address,
    secrets: ['hush-token', base64(`${account}:hush-token`)],
    answers: {
      accepted: json(201, { sid: 'CA0123456789abcdef', status: 'queued' }),
      id: 'CA0123456789abcdef',
      refused: words => json(400, { code: 21215, message: words, status: 400 }),
    },
    request: {
      path: `/2010-04-01/Accounts/${account}/Calls.json`,
      headers: {
        authorization: `Basic ${base64(`${account}:hush-token`)}`,
        'content-type': 'application/x-www-form-urlencoded',
      },
      body: {
        To: address,
        From: '+15555550100',
        Twiml:
          '<?xml version="1.0" encoding="UTF-8"?><Response><Say language="en-US">Order 7 is paid Hello Jane</Say></Response>',
      },
    },
  } satisfies ComplianceCase<typeof twilioVoice.settings>,

  whatsapp: {
    provider: whatsapp,
    settings: url => ({ access_token: 'EAAhush', phone_number_id: '106540352242922', endpoint: `${url}/v23.0` }),
    address,
    secrets: ['EAAhush'],
    answers: {
      accepted: json(200, {
        messaging_product: 'whatsapp',
        contacts: [{ input: address, wa_id: '15555550123' }],
        messages: [{ id: 'wamid.HBgL' }],
      }),
      id: 'wamid.HBgL',
      refused: words => whatsappError(400, 100, words),
      denied: whatsappError(401, 190, 'Invalid OAuth access token'),
    },
    request: {
      path: '/v23.0/106540352242922/messages',
      headers: { authorization: 'Bearer EAAhush', 'content-type': type },
      body: {
        messaging_product: 'whatsapp',
        recipient_type: 'individual',
        to: address,
        type: 'text',
        text: { preview_url: false, body: 'Order 7 is paid\n\nHello Jane' },
        biz_opaque_callback_data: id,
      },
    },
  } satisfies ComplianceCase<typeof whatsapp.settings>,
};
