/** Texts of the console: sandbox. */
import { isolated } from './isolated.ts';

export const texts = isolated({
  sandboxMailbox: 'Sandbox mailbox',
  description: 'Messages from channels with the sandbox provider. They are shown here instead of being sent.',
  noMessagesYet: 'No messages yet',
  noMessagesHint:
    'Create a channel with the {provider} provider and trigger an event that uses it. The message appears here and is not sent.',
  message: 'Message',
  allMessages: 'All messages',
  messages: 'Messages',
  loadMore: 'Load more',
  deletedUser: 'Deleted user',
  to: 'To',
  channel: 'Channel',
  deletedChannel: 'Deleted channel',
  event: 'Event',
  deletedEvent: 'Deleted event',
  occurrence: 'Occurrence',
  received: 'Received',
  messageNotLoaded: 'Message not loaded',
  chooseAMessage: 'Choose a message',
  messageNotLoadedHint: 'Load more messages to find it, or open its occurrence.',
});
