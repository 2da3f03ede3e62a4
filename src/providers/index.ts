/** All providers by name, as used in `use:`. */

import { apprise } from './apprise.ts';
import { googleChat } from './chat/google-chat.ts';
import { matrix } from './chat/matrix.ts';
import { mattermost } from './chat/mattermost.ts';
import { rocketchat } from './chat/rocketchat.ts';
import { signal } from './chat/signal.ts';
import { webex } from './chat/webex.ts';
import { zulip } from './chat/zulip.ts';
import { discordWebhook } from './discord/discord-webhook.ts';
import { mailgun } from './email/mailgun.ts';
import { mailjet } from './email/mailjet.ts';
import { postmark } from './email/postmark.ts';
import { resend } from './email/resend.ts';
import { sendgrid } from './email/sendgrid.ts';
import { ses } from './email/ses.ts';
import { smtp } from './email/smtp/smtp.ts';
import { inbox } from './inbox/inbox.ts';
import type { Providers } from './provider.ts';
import { gotify } from './push/gotify.ts';
import { ntfy } from './push/ntfy.ts';
import { pushover } from './push/pushover.ts';
import { sandbox } from './sandbox.ts';
import { slack } from './slack/slack.ts';
import { slackWebhook } from './slack/slack-webhook.ts';
import { twilio } from './sms/twilio.ts';
import { vonage } from './sms/vonage.ts';
import { teamsWorkflow } from './teams/teams-workflow.ts';
import { telegramBot } from './telegram/telegram-bot.ts';
import { opsgenie } from './webhook/opsgenie.ts';
import { pagerduty } from './webhook/pagerduty.ts';
import { standardWebhooks } from './webhook/standard-webhooks.ts';
import { vapid } from './webpush/vapid.ts';

export const providers: Providers = {
  smtp,
  sendgrid,
  mailgun,
  mailjet,
  postmark,
  resend,
  ses,
  twilio,
  vonage,
  slack,
  'slack-webhook': slackWebhook,
  'teams-workflow': teamsWorkflow,
  'discord-webhook': discordWebhook,
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
  ntfy,
  gotify,
  pushover,
  inbox,
  apprise,
  sandbox,
};
