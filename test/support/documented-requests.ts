/**
 * What services accept as a request, in their own words: minimal extracts of their OpenAPI descriptions or, where there are
 * none, of their documentation. Fields that are not documented are refused, so that a misspelled one is found.
 */
const text = (maxLength?: number, minLength = 0) => ({ type: 'string', minLength, ...(maxLength && { maxLength }) });
const list = (items: object, maxItems?: number) => ({ type: 'array', items, ...(maxItems && { maxItems }) });
const object = (properties: object, required: string[] = []) => ({
  type: 'object',
  properties,
  required,
  additionalProperties: false,
});
const texts = { type: 'object', additionalProperties: { type: 'string' } };
const phoneNumber = { type: 'string', pattern: '^\\+[1-9][0-9]{1,14}$' };
/** Of services that expect numbers without +. */
const digits = { type: 'string', pattern: '^[1-9][0-9]{1,14}$' };
const url = { type: 'string', format: 'uri' };
const person = object({ email: text(320, 1), name: text() }, ['email']);

export interface DocumentedRequest {
  source: string;
  body: object;
}

export const documentedRequests: Record<string, DocumentedRequest> = {
  twilio: {
    source: 'twilio/twilio-oai, spec/json/twilio_api_v2010.json, CreateMessage',
    body: {
      ...object({
        To: phoneNumber,
        From: text(),
        MessagingServiceSid: text(34),
        Body: text(1_600, 1),
        StatusCallback: url,
      }),
      required: ['To', 'Body'],
      oneOf: [{ required: ['From'] }, { required: ['MessagingServiceSid'] }],
    },
  },
  'twilio-voice': {
    source: 'twilio/twilio-oai, spec/json/twilio_api_v2010.json, CreateCall',
    body: object({ To: phoneNumber, From: phoneNumber, Twiml: text(4_000, 1), Timeout: text(3) }, [
      'To',
      'From',
      'Twiml',
    ]),
  },
  vonage: {
    source: 'Nexmo/api-specification, definitions/messages-olympus.yml, and developer.vonage.com/en/api/messages',
    body: object(
      {
        message_type: { const: 'text' },
        channel: { const: 'sms' },
        to: digits,
        from: text(15, 1),
        text: text(1_000, 1),
        client_ref: text(100),
        webhook_url: url,
      },
      ['message_type', 'channel', 'to', 'from', 'text'],
    ),
  },
  infobip: {
    source: 'infobip.com/docs/api/channels/sms/outbound-sms/send-sms-messages, version 3',
    body: object(
      {
        messages: list(
          object(
            {
              sender: text(),
              destinations: list(object({ to: text(64, 1) }, ['to'])),
              content: object({ text: text() }, ['text']),
            },
            ['sender', 'destinations', 'content'],
          ),
        ),
      },
      ['messages'],
    ),
  },
  sinch: {
    source: 'developers.sinch.com, SMS API, TextRequest',
    body: object(
      {
        from: text(),
        to: list(phoneNumber),
        body: text(2_000, 1),
        type: { const: 'mt_text' },
        client_reference: text(255),
      },
      ['to', 'body'],
    ),
  },
  sendgrid: {
    source: 'twilio/sendgrid-oai, spec/json/tsg_mail_v3.json, /v3/mail/send',
    body: object(
      {
        personalizations: list(object({ to: list(person), custom_args: texts }, ['to']), 1_000),
        from: person,
        reply_to: person,
        subject: text(undefined, 1),
        content: list(object({ type: text(undefined, 1), value: text(undefined, 1) }, ['type', 'value'])),
        categories: { ...list(text(255), 10), uniqueItems: true },
        headers: texts,
      },
      ['personalizations', 'from', 'subject', 'content'],
    ),
  },
  resend: {
    source: 'resend/resend-openapi, resend.yaml, SendEmailRequest',
    body: object(
      {
        from: text(),
        to: list(text(), 50),
        subject: text(),
        reply_to: text(),
        html: text(),
        text: text(),
        headers: texts,
        tags: list(
          object({
            name: { type: 'string', pattern: '^[A-Za-z0-9_-]{1,256}$' },
            value: { type: 'string', pattern: '^[A-Za-z0-9_-]{0,256}$' },
          }),
        ),
      },
      ['from', 'to', 'subject'],
    ),
  },
  'discord-webhook': {
    source: 'discord/discord-api-spec, specs/openapi.json, IncomingWebhookRequestPartial',
    body: object({
      content: text(2_000),
      username: text(80, 1),
      allowed_mentions: object({ parse: list({ enum: ['users', 'roles', 'everyone'] }) }),
    }),
  },
  slack: {
    source: 'slackapi/slack-api-specs, web-api/slack_web_openapi_v2.json, chat.postMessage',
    body: object(
      {
        channel: text(undefined, 1),
        text: text(40_000),
        mrkdwn: { type: 'boolean' },
        parse: text(),
        unfurl_links: { type: 'boolean' },
        unfurl_media: { type: 'boolean' },
      },
      ['channel'],
    ),
  },
  fcm: {
    source: 'firebase.google.com/docs/reference/fcm/rest/v1/projects.messages, Message',
    body: object(
      {
        message: object(
          {
            token: text(undefined, 1),
            notification: object({ title: text(), body: text(), image: url }),
            data: texts,
            android: object({
              collapse_key: text(),
              priority: { enum: ['NORMAL', 'HIGH'] },
              ttl: { type: 'string', pattern: '^[0-9]+s$' },
              notification: object({
                channel_id: text(),
                notification_priority: {
                  enum: ['PRIORITY_MIN', 'PRIORITY_LOW', 'PRIORITY_DEFAULT', 'PRIORITY_HIGH', 'PRIORITY_MAX'],
                },
                sound: text(),
                tag: text(),
                notification_count: { type: 'integer' },
              }),
            }),
            apns: object({ headers: texts, payload: { type: 'object' } }),
            webpush: object({ headers: texts }),
          },
          ['token'],
        ),
      },
      ['message'],
    ),
  },
};
