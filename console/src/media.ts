/** The types of channel: what each is called and looks like, in the order in which they are offered. */
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
  IconPhone,
  IconSend,
  IconWebhook,
  IconWorld,
} from '@tabler/icons-react';
import { texts } from './texts/channels.ts';

export interface MediumLook {
  name: string;
  icon: Icon;
  summary: string;
  /** What an address of this kind looks like. */
  example: string;
}

export const mediumLooks: Record<string, MediumLook> = {
  email: { name: texts.email, icon: IconMail, summary: texts.htmlAndPlainText, example: 'jane@acme.test' },
  sms: { name: texts.sms, icon: IconMessage, summary: texts.textMessagesToAPhone, example: '+15555550100' },
  slack: { name: texts.slack, icon: IconBrandSlack, summary: texts.toAPersonOrChannel, example: 'C012345' },
  teams: { name: texts.microsoftTeams, icon: IconBrandTeams, summary: texts.aCardInAChatOr, example: '' },
  discord: { name: texts.discord, icon: IconBrandDiscord, summary: texts.toAChannel, example: '' },
  telegram: { name: texts.telegram, icon: IconBrandTelegram, summary: texts.fromABotToAChat, example: '123456789' },
  webhook: {
    name: texts.webhook,
    icon: IconWebhook,
    summary: texts.signedJsonToYourServer,
    example: 'https://acme.test/hook',
  },
  webpush: { name: texts.webPush, icon: IconWorld, summary: texts.browserNotifications, example: '' },
  inbox: { name: texts.inbox, icon: IconInbox, summary: texts.insideYourOwnApp, example: '' },
  push: { name: texts.mobilePush, icon: IconDeviceMobile, summary: texts.appNotifications, example: '' },
  whatsapp: { name: texts.whatsapp, icon: IconBrandWhatsapp, summary: texts.toAPhoneNumber, example: '+15555550100' },
  voice: { name: texts.voice, icon: IconPhone, summary: texts.aPhoneCallThatReadsThe, example: '+15555550100' },
};

export function lookOfMedium(type: string): MediumLook {
  return mediumLooks[type] ?? { name: type, icon: IconSend, summary: '', example: '' };
}
