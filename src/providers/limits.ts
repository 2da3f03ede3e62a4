/**
 * How much text each service accepts, as it documents it. Providers cut longer texts, with `truncate` or `truncateBytes`: a
 * shortened message is worth more than a refused one. A service that is missing here documents no limit.
 */

/** In characters. UTF-16 units are counted, of which a character has at least one. */
export const maxCharacters = {
  /** https://www.twilio.com/docs/messaging/api/message-resource, Body. */
  twilio: { text: 1_600 },
  /** https://developer.vonage.com/en/api/messages, text of SMS. */
  vonage: { text: 1_000 },
  /** https://www.plivo.com/docs/messaging/api/message/send-a-message, text. */
  plivo: { text: 1_600 },
  /** https://developers.sinch.com/docs/sms/api-reference/sms/batches/sendsms, body. */
  sinch: { text: 2_000 },
  /** https://docs.aws.amazon.com/sns/latest/api/API_Publish.html, Message. */
  sns: { text: 1_600 },
  /** https://developers.facebook.com/docs/whatsapp/cloud-api/reference/messages. A template has at most 50 parameters. */
  whatsapp: { text: 4_096, caption: 1_024, parameter: 1_024 },
  /** https://docs.slack.dev/reference/methods/chat.postMessage, and of blocks, https://docs.slack.dev/reference/block-kit. */
  slack: { text: 40_000, section: 3_000, label: 75 },
  /** https://discord.com/developers/docs/resources/message#create-message, and of buttons. */
  discord: { text: 2_000, label: 80 },
  /** https://core.telegram.org/bots/api#sendmessage, after markup is read; of captions, of buttons and of answers to presses. */
  telegram: { text: 4_096, caption: 1_024, label: 64, answer: 200 },
  /** https://developers.mattermost.com, Post.Message. */
  mattermost: { text: 16_383, label: 75 },
  /** https://docs.rocket.chat/docs/message, the default of Message_MaxAllowedSize. */
  rocketchat: { text: 5_000 },
  /** https://zulip.com/api/send-message. */
  zulip: { text: 10_000, topic: 60 },
  /** https://pushover.net/api#limits. */
  pushover: { text: 1_024, title: 250 },
  /** https://developer.pagerduty.com/docs/events-api-v2/trigger-events, payload.summary. */
  pagerduty: { summary: 1_024 },
  /** https://docs.opsgenie.com/docs/alert-api#create-alert; `details` is that of all details together. */
  opsgenie: { message: 130, description: 15_000, entity: 512, details: 8_000, note: 25_000 },
} as const;

/** In bytes of UTF-8. */
export const maxBytes = {
  /** https://developers.google.com/workspace/chat/api/reference/rest/v1/spaces.messages: 32,000 for the whole message. */
  googleChat: { text: 31_000 },
  /** https://spec.matrix.org/latest/client-server-api/#size-limits: 65,536 for the event, which contains the text up to three times. */
  matrix: { text: 20_000 },
  /** https://developer.webex.com/docs/api/v1/messages/create-a-message. */
  webex: { text: 7_439 },
  /** https://learn.microsoft.com/microsoftteams/platform/webhooks-and-connectors, the whole request. */
  teams: { body: 28 * 1_024 },
  /** https://docs.ntfy.sh/publish/#limitations. A longer message becomes an attachment. */
  ntfy: { text: 4_096 },
  /** https://www.twilio.com/docs/voice/api/call-resource, Twiml. */
  twilioVoice: { document: 4_000 },
  /** https://firebase.google.com/docs/cloud-messaging/concept-options, the whole request. */
  fcm: { body: 4_096 },
  /** https://developer.apple.com/documentation/usernotifications/generating-a-remote-notification, the whole request. */
  apns: { body: 4_096 },
  /** RFC 8291, 4: what fits into the 4,096 bytes that every push service accepts. */
  webPush: { body: 3_993 },
} as const;
