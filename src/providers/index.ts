/** All providers by name, as used in `use:`. */

import { apprise } from './any/apprise.ts';
import { sandbox } from './any/sandbox.ts';
import { discordBot } from './chat/discord/discord-bot.ts';
import { discordWebhook } from './chat/discord/discord-webhook.ts';
import { googleChat } from './chat/google-chat.ts';
import { matrix } from './chat/matrix.ts';
import { mattermost } from './chat/mattermost.ts';
import { rocketchat } from './chat/rocketchat.ts';
import { signal } from './chat/signal.ts';
import { slack } from './chat/slack/slack.ts';
import { slackWebhook } from './chat/slack/slack-webhook.ts';
import { teams } from './chat/teams/teams.ts';
import { teamsWorkflow } from './chat/teams/teams-workflow.ts';
import { telegramBot } from './chat/telegram/telegram-bot.ts';
import { webex } from './chat/webex.ts';
import { whatsapp } from './chat/whatsapp.ts';
import { zulip } from './chat/zulip.ts';
import { brevo } from './email/brevo.ts';
import { mailersend } from './email/mailersend.ts';
import { mailgun } from './email/mailgun.ts';
import { mailjet } from './email/mailjet.ts';
import { mailtrap } from './email/mailtrap.ts';
import { postmark } from './email/postmark.ts';
import { resend } from './email/resend.ts';
import { sendgrid } from './email/sendgrid.ts';
import { ses } from './email/ses.ts';
import { smtp } from './email/smtp/smtp.ts';
import { sparkpost } from './email/sparkpost.ts';
import { inbox } from './inbox/inbox.ts';
import type { Providers } from './provider.ts';
import { apns } from './push/apns.ts';
import { fcm } from './push/fcm.ts';
import { gotify } from './push/gotify.ts';
import { ntfy } from './push/ntfy.ts';
import { pushover } from './push/pushover.ts';
import { vapid } from './push/webpush/vapid.ts';
import { bird } from './sms/bird.ts';
import { infobip } from './sms/infobip.ts';
import { plivo } from './sms/plivo.ts';
import { sinch } from './sms/sinch.ts';
import { smsGateway } from './sms/sms-gateway.ts';
import { sns } from './sms/sns.ts';
import { twilio } from './sms/twilio.ts';
import { vonage } from './sms/vonage.ts';
import { twilioVoice } from './voice/twilio-voice.ts';
import { opsgenie } from './webhook/opsgenie.ts';
import { pagerduty } from './webhook/pagerduty.ts';
import { standardWebhooks } from './webhook/standard-webhooks.ts';

export const providers: Providers = {
  smtp,
  sendgrid,
  mailgun,
  mailjet,
  postmark,
  resend,
  ses,
  brevo,
  sparkpost,
  mailersend,
  mailtrap,
  twilio,
  vonage,
  plivo,
  sinch,
  infobip,
  bird,
  sns,
  'sms-gateway': smsGateway,
  'twilio-voice': twilioVoice,
  whatsapp,
  slack,
  'slack-webhook': slackWebhook,
  teams,
  'teams-workflow': teamsWorkflow,
  'discord-webhook': discordWebhook,
  'discord-bot': discordBot,
  'telegram-bot': telegramBot,
  mattermost,
  rocketchat,
  'google-chat': googleChat,
  matrix,
  zulip,
  webex,
  signal,
  'standard-webhooks': standardWebhooks,
  pagerduty,
  opsgenie,
  vapid,
  fcm,
  apns,
  ntfy,
  gotify,
  pushover,
  inbox,
  apprise,
  sandbox,
};
