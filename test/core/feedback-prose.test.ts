/** Reports that are only prose, as mail systems word them, give their recipients and whether the first address is dead. */
import { expect, test } from 'vitest';
import { smtp } from '../../src/providers/feedback/smtp.ts';

const original =
  'Received: from a by b\nMessage-ID: <1@news.test>\nFrom: news@news.test\nTo: jane@acme.test\nSubject: Hi\n\nHello!\n';

const mailOf = (from: string, subject: string, text: string) =>
  `From: ${from}\nTo: news@news.test\nSubject: ${subject}\nContent-Type: text/plain; charset=utf-8\n\n${text}`;

const mails: [system: string, mail: string, recipients: string[], permanent: boolean | undefined][] = [
  [
    'GroupWise',
    mailOf(
      'Mailer-Daemon@gw.test',
      'Message status - undeliverable',
      `The message that you sent was undeliverable to the following:\n\tjane@acme.test (user not found)\n\nPossibly truncated original message follows:\n\n${original}`,
    ),
    ['jane@acme.test'],
    true,
  ],
  [
    'Domino',
    mailOf(
      'postmaster@acme.test',
      'DELIVERY FAILURE: User jane (jane@acme.test) not listed in Domino Directory',
      `Your message\n\n  Subject: Hi\n\nwas not delivered to:\n\n  jane@acme.test\n\nbecause:\n\n  User jane (jane@acme.test) not listed in Domino Directory\n\n`,
    ),
    ['jane@acme.test'],
    true,
  ],
  [
    'a server that names no address',
    mailOf(
      'postmaster@compuserve.test',
      'Undeliverable message',
      `Receiver not found: jane\n\nYour message could not be delivered as addressed.\n\n--- Returned message ---\n\n${original}`,
    ),
    ['jane@acme.test'],
    undefined,
  ],
  [
    'AOL',
    mailOf(
      'Mail Delivery Subsystem <MAILER-DAEMON@aol.test>',
      'Returned mail: User unknown',
      `The original message was received at Mon, 1 Jan 2001 00:00:00 -0500 (EST)\nfrom root@localhost\n\n*** ATTENTION ***\n\nYour e-mail is being returned to you because there was a problem with its\ndelivery.  The AOL address which was undeliverable is listed in the section\nlabeled: "----- The following addresses had permanent fatal errors -----".\n\n   ----- The following addresses had permanent fatal errors -----\n<jane@acme.test>\n\n   ----- Transcript of session follows -----\n... while talking to air-xa01.mail.acme.test.:\n>>> RCPT To:<jane@acme.test>\n<<< 550 MAILBOX NOT FOUND\n550 <jane@acme.test>... User unknown\n`,
    ),
    ['jane@acme.test'],
    true,
  ],
  [
    'Exchange 5.5',
    mailOf(
      'System Administrator <postmaster@acme.test>',
      'Undeliverable: Hi',
      `Your message\n\n  To:      jane@acme.test; joe@acme.test\n  Subject: Hi\n  Sent:    Mon, 1 Jan 2001 00:00:00 -0500\n\ndid not reach the following recipient(s):\n\njane@acme.test on Mon, 1 Jan 2001 00:00:10 -0500\n    The recipient name is not recognized\n\tThe MTS-ID of the original message is: c=us;a= ;p=Acme;l=X-0000\n    MSEXCH:IMS:ACME:SITE:SRV 0 (000C05A6) Unknown Recipient\n\njoe@acme.test on Mon, 1 Jan 2001 00:00:10 -0500\n    The recipient's mailbox is full\n`,
    ),
    ['jane@acme.test', 'joe@acme.test'],
    true,
  ],
  [
    'IMail',
    mailOf(
      'Postmaster <postmaster@acme.test>',
      'Undeliverable Mail',
      `Unknown host: jane@acme.test\n\nOriginal message follows.\n\n${original}`,
    ),
    ['jane@acme.test'],
    true,
  ],
  [
    'MailEnable',
    mailOf(
      'Postmaster <postmaster@acme.test>',
      'Message Delivery Failure',
      `MailEnable: Message Delivery Failure.\n\nThe following recipient(s) could not be reached:\n\n\tRecipient: [SMTP:jane@acme.test]\n\tReason: Remote SMTP Server Returned: 550 No such user here\n\nMessage headers follow:\n\n${original}`,
    ),
    ['jane@acme.test'],
    true,
  ],
  [
    'hMailServer',
    mailOf(
      'mailer-daemon@acme.test',
      'Message undeliverable: Hi',
      `Your message did not reach some or all of the intended recipients.\n\n   Sent: Mon, 1 Jan 2001 00:00:00 -0500\n   Subject: Hi\n\nThe following recipient(s) could not be reached:\n\njane@acme.test\n   Error Type: SMTP\n   Remote server (192.0.2.1) issued an error.\n   hMailServer sent: RCPT TO:<jane@acme.test>\n   Remote server replied: 550 Unknown user\n\n\nhMailServer\n`,
    ),
    ['jane@acme.test'],
    true,
  ],
  [
    'Courier',
    mailOf(
      '"Courier mail server at mx.test" <@>',
      'NOTICE: mail delivery status.',
      `This is a delivery status notification from mx.test,\nrunning the Courier mail server, version 0.65.\n\nThe original message was received on Mon, 1 Jan 2001 00:00:00 -0500\nfrom localhost\n\n---------------------------------------------------------------------------\n\n                           UNDELIVERABLE MAIL\n\nYour message to the following recipients cannot be delivered:\n\n<jane@acme.test>:\n    mx.acme.test [192.0.2.1]:\n>>> RCPT TO:<jane@acme.test>\n<<< 550 5.1.1 User unknown\n\n---------------------------------------------------------------------------\n\nIf your message was also sent to additional recipients, their delivery\nstatus is not included in this report.  You may or may not receive\nother delivery status notifications for additional recipients.\n`,
    ),
    ['jane@acme.test'],
    true,
  ],
  [
    'a German server',
    mailOf(
      'Mail Delivery System <mailer-daemon@gmx.test>',
      'Mail delivery failed: returning message to sender',
      `Diese Nachricht wurde automatisch vom Mailserver erzeugt.\n\nIhre Nachricht konnte an folgende Empfänger nicht zugestellt werden:\n\njane@acme.test\nGrund: Benutzer unbekannt\n\n--- Ursprüngliche Nachricht ---\n\n${original}`,
    ),
    ['jane@acme.test'],
    true,
  ],
  [
    'Exchange in German',
    mailOf(
      'postmaster@acme.test',
      'Unzustellbar: Hi',
      `Fehler bei der Nachrichtenzustellung an folgende Empfänger oder Verteilerlisten:\n\njane@acme.test\nDie eingegebene E-Mail-Adresse konnte nicht gefunden werden.\n\nDiagnoseinformationen für Administratoren:\n\n#550 5.1.1 RESOLVER.ADR.RecipNotFound; not found ##\n`,
    ),
    ['jane@acme.test'],
    true,
  ],
  [
    'a French server',
    mailOf(
      'Postmaster <postmaster@orange.test>',
      'Échec de la remise de votre message',
      `Bonjour,\n\nVotre message n'a pas pu être remis au destinataire suivant :\n\n  jane@acme.test\n\nMotif : utilisateur inconnu\n`,
    ),
    ['jane@acme.test'],
    true,
  ],
  [
    'a Spanish server',
    mailOf(
      'postmaster@acme.test',
      'No se pudo entregar: Hi',
      `No se pudo entregar el mensaje a los siguientes destinatarios:\n\njane@acme.test\nEl usuario no existe en este servidor.\n`,
    ),
    ['jane@acme.test'],
    true,
  ],
  [
    'an Italian server',
    mailOf(
      'Posta <postmaster@libero.test>',
      'Mancato recapito del messaggio',
      `Il messaggio non è stato recapitato al seguente destinatario:\n\n<jane@acme.test>: casella piena\n`,
    ),
    ['jane@acme.test'],
    false,
  ],
  [
    'a Portuguese server',
    mailOf(
      'postmaster@uol.test',
      'Falha na entrega da mensagem',
      `Sua mensagem não pôde ser entregue ao destinatário jane@acme.test.\n\nMotivo: usuário desconhecido\n`,
    ),
    ['jane@acme.test'],
    true,
  ],
  [
    'Yandex',
    mailOf(
      'mailer-daemon@yandex.test',
      'Недоставленное сообщение',
      `Это письмо отправлено почтовым сервером.\n\nК сожалению, мы вынуждены сообщить Вам о том, что Ваше письмо не может быть отправлено одному или нескольким адресатам.\n\n<jane@acme.test>: host mx.acme.test[192.0.2.1] said: 550 5.7.1 No such user! (in reply to RCPT TO command)\n`,
    ),
    ['jane@acme.test'],
    true,
  ],
  [
    'NetEase',
    mailOf(
      'Postmaster@163.test',
      '系统退信',
      `抱歉，您的邮件被退回来了……\n\n收件人: jane@acme.test\n\n退信原因：收件人邮件地址(jane@acme.test)不存在，邮件无法送达。\nRemote server said: 550 User not found: jane@acme.test\n`,
    ),
    ['jane@acme.test'],
    true,
  ],
  [
    'a Japanese server',
    mailOf(
      'MAILER-DAEMON@acme.test',
      '配信不能通知',
      `次のあて先へのメッセージはエラーのため送信できませんでした。\n\n<jane@acme.test>: 宛先のユーザーは存在しません。\n`,
    ),
    ['jane@acme.test'],
    true,
  ],
  [
    'a server that lists recipients in a sentence',
    mailOf(
      'postmaster@acme.test',
      'Mail delivery problem',
      `Your message could not be delivered to jane@acme.test, joe@acme.test because the mailbox is full.\n`,
    ),
    ['jane@acme.test', 'joe@acme.test'],
    false,
  ],
  [
    'a person-like robot',
    mailOf(
      'mailer@acme.test',
      'Undeliverable mail',
      `Hello,\n\nthe mail you sent to jane@acme.test was rejected because no such user exists here.\nFor help write to support-team@acme.test.\n\nBye\n`,
    ),
    ['jane@acme.test'],
    true,
  ],
  [
    'qmail about two mailboxes',
    mailOf(
      'MAILER-DAEMON@acme.test',
      'failure notice',
      `Hi. This is the qmail-send program at acme.test.\nI'm afraid I wasn't able to deliver your message to the following addresses.\nThis is a permanent error; I've given up. Sorry it didn't work out.\n\n<jane@acme.test>:\nThis address no longer accepts mail.\n\n<joe@acme.test>:\nSorry, no mailbox here by that name. vpopmail (#5.1.1)\n\n--- Below this line is a copy of the message.\n\n${original}`,
    ),
    ['jane@acme.test', 'joe@acme.test'],
    false,
  ],
  [
    'MDaemon',
    mailOf(
      'MDaemon@acme.test',
      'Warning: jane@acme.test - User unknown!',
      `The following data may contain sections which represent BASE64\n--------------------------------\n\nThe attached message had PERMANENT fatal delivery errors!\n\nAfter one or more unsuccessful delivery attempts the attached message has\nbeen removed from the mail queue on this server.\n\nFailed address: jane@acme.test\n\n--- Session Transcript ---\n Attempting SMTP connection to [192.0.2.1:25]\n --> MAIL From:<news@news.test>\n <-- 250 ok\n --> RCPT To:<jane@acme.test>\n <-- 550 5.1.1 unknown user\n--- End Transcript ---\n`,
    ),
    ['jane@acme.test'],
    true,
  ],
  [
    'Post.Office',
    mailOf(
      'Postmaster <postmaster@acme.test>',
      'Undeliverable Message',
      `This Message was undeliverable due to the following reason:\n\nThe user(s) account is temporarily over quota.\n\n<jane@acme.test>\n\nPlease reply to <postmaster@acme.test> if you feel this message to be in error.\n\nReporting-MTA: dns; mx.acme.test\n`,
    ),
    ['jane@acme.test'],
    false,
  ],
  [
    'LSMTP',
    mailOf(
      'LSMTP <postmaster@lists.test>',
      'Undelivered mail',
      `The enclosed message could not be delivered to the following recipients:\n\n*** jane@acme.test\n    550 Unknown local part jane in <jane@acme.test>\n`,
    ),
    ['jane@acme.test'],
    true,
  ],
  [
    'Microsoft 365',
    mailOf(
      'Microsoft Outlook <MicrosoftExchange329e@acme.test>',
      'Undeliverable: Hi',
      `Delivery has failed to these recipients or groups:\n\njane@acme.test (jane@acme.test)<mailto:jane@acme.test>\nThe email address you entered couldn't be found. Please check the recipient's email address and try to resend the message. If the problem continues, please contact your email admin.\n\nDiagnostic information for administrators:\n\nGenerating server: X.PROD.OUTLOOK.COM\n\njane@acme.test\nRemote Server returned '550 5.1.10 RESOLVER.ADR.RecipientNotFound; Recipient jane@acme.test not found by SMTP address lookup'\n\nOriginal message headers:\n\n${original}`,
    ),
    ['jane@acme.test'],
    true,
  ],
  [
    'a server that repeats the header',
    mailOf(
      'postmaster@bell.test',
      'Delivery failure',
      `A message you sent could not be delivered to the following recipient:\n\nTo: jane@acme.test\n\nReason: mailbox does not exist\n`,
    ),
    ['jane@acme.test'],
    true,
  ],
  [
    'a French vacation reply',
    mailOf('Jane <jane@acme.test>', 'Réponse automatique : Hi', `Je suis absent du bureau jusqu'au 5 mai.`),
    [],
    undefined,
  ],
  [
    'a Spanish vacation reply',
    mailOf(
      'Jane <jane@acme.test>',
      'Respuesta automática: Hi',
      `No estoy disponible. Si falla, escriba a joe@acme.test`,
    ),
    [],
    undefined,
  ],
];
test.each(mails)('%s', (_, mail, recipients, permanent) => {
  const events = smtp.read({ contentType: '', bytes: Buffer.from(mail) });
  expect(events.map(event => event.recipient)).toEqual(recipients);
  if (permanent !== undefined) expect(events[0]!.permanent).toBe(permanent);
});
