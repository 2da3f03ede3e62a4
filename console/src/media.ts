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

export interface MediumLook {
  name: string;
  icon: Icon;
  summary: string;
  /** What an address of this kind looks like. */
  example: string;
}

export const mediumLooks: Record<string, MediumLook> = {
  email: { name: 'Email', icon: IconMail, summary: 'HTML and plain text', example: 'jane@acme.test' },
  sms: { name: 'SMS', icon: IconMessage, summary: 'Text messages to a phone', example: '+15555550100' },
  slack: { name: 'Slack', icon: IconBrandSlack, summary: 'To a person or channel', example: 'C012345' },
  teams: { name: 'Microsoft Teams', icon: IconBrandTeams, summary: 'A card in a chat or channel', example: '' },
  discord: { name: 'Discord', icon: IconBrandDiscord, summary: 'To a channel', example: '' },
  telegram: { name: 'Telegram', icon: IconBrandTelegram, summary: 'From a bot to a chat', example: '123456789' },
  webhook: {
    name: 'Webhook',
    icon: IconWebhook,
    summary: 'Signed JSON to your server',
    example: 'https://acme.test/hook',
  },
  webpush: { name: 'Web push', icon: IconWorld, summary: 'Browser notifications', example: '' },
  inbox: { name: 'Inbox', icon: IconInbox, summary: 'Inside your own app', example: '' },
  push: { name: 'Mobile push', icon: IconDeviceMobile, summary: 'App notifications', example: '' },
  whatsapp: { name: 'WhatsApp', icon: IconBrandWhatsapp, summary: 'To a phone number', example: '+15555550100' },
  voice: { name: 'Voice', icon: IconPhone, summary: 'A phone call that reads the message', example: '+15555550100' },
};

export function lookOfMedium(type: string): MediumLook {
  return mediumLooks[type] ?? { name: type, icon: IconSend, summary: '', example: '' };
}
