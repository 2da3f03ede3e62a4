/** Names and icons of the channel types, in the order in which they are offered. */
import type { Icon } from '@tabler/icons-react';
import {
  IconBrandDiscord,
  IconBrandSlack,
  IconBrandTeams,
  IconBrandTelegram,
  IconBrandWhatsapp,
  IconDeviceMobile,
  IconInbox,
  IconMail,
  IconMessage,
  IconMessages,
  IconPhone,
  IconSend,
  IconWebhook,
  IconWorld,
} from '@tabler/icons-react';
import { texts } from './texts/channels.ts';

export interface ChannelType {
  name: string;
  icon: Icon;
  summary: string;
  /** Example of an address. */
  example: string;
}

export const channelTypes: Record<string, ChannelType> = {
  email: { name: texts.email, icon: IconMail, summary: texts.emailSummary, example: 'jane@acme.test' },
  sms: { name: texts.sms, icon: IconMessage, summary: texts.smsSummary, example: '+15555550100' },
  slack: { name: texts.slack, icon: IconBrandSlack, summary: texts.slackSummary, example: 'C012345' },
  teams: {
    name: texts.microsoftTeams,
    icon: IconBrandTeams,
    summary: texts.teamsSummary,
    example: '7faf8ab2-3d56-4244-b585-20c8a42ed2b8',
  },
  discord: { name: texts.discord, icon: IconBrandDiscord, summary: texts.discordSummary, example: '' },
  telegram: { name: texts.telegram, icon: IconBrandTelegram, summary: texts.telegramSummary, example: '123456789' },
  chat: { name: texts.chat, icon: IconMessages, summary: texts.chatSummary, example: '!room:acme.test' },
  webhook: {
    name: texts.webhook,
    icon: IconWebhook,
    summary: texts.webhookSummary,
    example: 'https://acme.test/hook',
  },
  webpush: { name: texts.webPush, icon: IconWorld, summary: texts.webPushSummary, example: '' },
  inbox: { name: texts.inbox, icon: IconInbox, summary: texts.inboxSummary, example: '' },
  push: { name: texts.mobilePush, icon: IconDeviceMobile, summary: texts.mobilePushSummary, example: '' },
  whatsapp: { name: texts.whatsapp, icon: IconBrandWhatsapp, summary: texts.whatsappSummary, example: '+15555550100' },
  voice: { name: texts.voice, icon: IconPhone, summary: texts.voiceSummary, example: '+15555550100' },
};

export function getChannelType(type: string): ChannelType {
  return channelTypes[type] ?? { name: type, icon: IconSend, summary: '', example: '' };
}
