/** Texts of the pages for recipients, by language. */
import { lookUp } from '../../core/lookup.ts';
import { absenceLimits } from '../../core/oncall/absences.ts';
import { calendarLimits } from '../../core/oncall/calendars/calendar.ts';
import { limits } from '../../core/text/text.ts';

export { fillText as fill } from '../../core/text/text.ts';

export interface PageTexts {
  title: string;
  intro: string;
  categories: string;
  category: string;
  required: string;
  notOffered: string;
  save: string;
  saved: string;
  allOff: string;
  allOffHint: string;
  addresses: string;
  noAddresses: string;
  lastChange: string;
  sources: Record<string, string>;
  noCategories: string;
  unsubscribeTitle: string;
  unsubscribeQuestion: string;
  unsubscribe: string;
  unsubscribed: string;
  stillRequired: string;
  manage: string;
  broken: string;
  brokenHint: string;
  sample: string;
  sampleHint: string;
  quiet: string;
  quietHint: string;
  quietDefault: string;
  quietOwn: string;
  quietNone: string;
  none: string;
  from: string;
  to: string;
  days: string;
  timezone: string;
  timezoneDefault: string;
  quietInvalid: string;
  reach: string;
  reachHint: string;
  reachSets: { important: string; normal: string };
  reachBy: string;
  reachAfter: string;
  reachTimes: string;
  reachInvalid: string;
  verifyHint: string;
  verified: string;
  unverified: string;
  unreachable: string;
  sendCode: string;
  sendAnother: string;
  code: string;
  codeHint: string;
  verify: string;
  /** What became of a code that was asked for or entered. */
  codes: Record<'sent' | 'verified' | 'wrong' | 'ended' | 'limited' | 'failed', string>;
  absences: {
    title: string;
    hint: string;
    zone: string;
    none: string;
    fromCalendar: string;
    delete: string;
    collisions: string;
    collisionsHint: string;
    more: string;
    add: string;
    begins: string;
    ends: string;
    reason: string;
    addAction: string;
    calendars: string;
    calendarsHint: string;
    count: string;
    onlyWith: string;
    remove: string;
    connect: string;
    address: string;
    addressHint: string;
    words: string;
    wordsHint: string;
    connectAction: string;
    outcomes: Record<'added' | 'deleted' | 'connected' | 'removed', string>;
    full: string;
    busy: string;
    mistakes: Record<'starts_at' | 'ends_at' | 'reason' | 'url' | 'words', string>;
  };
  types: Record<string, string>;
}

const absence = { ahead: absenceLimits.aheadDays, days: absenceLimits.days, open: absenceLimits.open };
const word = { count: calendarLimits.words, length: calendarLimits.word };

const types = {
  email: 'Email',
  sms: 'SMS',
  voice: 'Phone call',
  whatsapp: 'WhatsApp',
  telegram: 'Telegram',
  slack: 'Slack',
  teams: 'Teams',
  discord: 'Discord',
  chat: 'Chat',
  webpush: 'Browser',
  push: 'Push',
  inbox: 'Inbox',
};

const en: PageTexts = {
  title: 'Notification settings',
  intro: 'Choose what {name} sends you, and how.',
  categories: 'What you receive',
  category: 'Category',
  required: 'Required, cannot be turned off',
  notOffered: 'Not available',
  save: 'Save',
  saved: 'Your settings were saved.',
  allOff: 'Turn everything off',
  allOffHint: 'You will still receive required notifications.',
  addresses: 'Where we reach you',
  noAddresses: 'No addresses yet.',
  lastChange: 'Last changed on {date} ({source}).',
  sources: {
    page: 'on this page',
    'one-click': 'via an unsubscribe link',
    api: 'by {name}',
    console: 'by {name}',
    import: 'imported by {name}',
    inbox: 'in your inbox',
  },
  noCategories: 'There are no categories to choose from yet.',
  unsubscribeTitle: 'Unsubscribe',
  unsubscribeQuestion: 'Do you want to stop receiving “{category}” from {name} by {type}?',
  unsubscribe: 'Unsubscribe',
  unsubscribed: 'You will no longer receive “{category}” by {type}.',
  stillRequired: '“{category}” is required and cannot be turned off.',
  manage: 'All notification settings',
  broken: 'This link does not work',
  brokenHint: 'It may be incomplete or out of date. Use the link in a more recent message.',
  sample: 'This is a preview',
  sampleHint: 'In a real message, this link opens the notification settings of its recipient.',
  quiet: 'Quiet hours',
  quietHint: 'Notifications that are not urgent wait until quiet hours end.',
  quietDefault: 'Default of {name}: {hours}',
  quietOwn: 'My own hours',
  quietNone: 'No quiet hours',
  none: 'none',
  from: 'From',
  to: 'To',
  days: 'Starting on',
  timezone: 'Time zone',
  timezoneDefault: 'Default of {name}: {zone}',
  quietInvalid: 'Quiet hours need a start and an end that differ. Nothing was saved.',
  reach: 'How alerts reach you',
  reachHint: 'One after the other, until someone responds. Without rows: all ways at once.',
  reachSets: { important: 'Urgent', normal: 'Not urgent' },
  reachBy: 'By',
  reachAfter: 'After minutes',
  reachTimes: 'Times',
  reachInvalid:
    'What is sent several times needs minutes between two messages, and there are at most 10 of each kind within 12 hours. Nothing was saved.',
  verifyHint: 'Verify each address once, so that alerts do not go to one that you cannot read.',
  verified: 'Verified',
  unverified: 'Not verified',
  unreachable: '{name} cannot send a code to it at the moment.',
  sendCode: 'Send code',
  sendAnother: 'Send another code',
  code: 'Code',
  codeHint: 'Enter the 6 digits that we sent within {minutes} minutes.',
  verify: 'Verify',
  codes: {
    sent: 'We sent you a code. Enter it below.',
    verified: 'The address is verified.',
    wrong: 'This is not the code that we sent last.',
    ended: 'This code is no longer valid. Send another one.',
    limited: 'Too many codes were sent. Try again later.',
    failed: 'The code could not be sent.',
  },
  absences: {
    title: 'Absences',
    hint: 'You stay on call while you are away: such shifts are marked, so that someone else can take them. People who see the schedules see your absences with their reasons.',
    zone: 'Times are in the time zone {zone}.',
    none: 'No absences yet.',
    fromCalendar: 'from the calendar on {host}',
    delete: 'Delete',
    collisions: 'On call while away',
    collisionsHint: 'Ask someone to take over at these times.',
    more: 'There are more.',
    add: 'Add an absence',
    begins: 'Begins',
    ends: 'Ends',
    reason: 'Reason (optional)',
    addAction: 'Add absence',
    calendars: 'Calendars of absences',
    calendarsHint:
      'Events in these calendars become absences. Without words, these are all-day events that are shown as busy, and events that Outlook marks as out of office.',
    count: 'Absences: {count}',
    onlyWith: 'Only with: {words}',
    remove: 'Remove',
    connect: 'Connect a calendar',
    address: 'Address of the calendar',
    addressHint: 'The secret address in iCal format. It is stored encrypted, and not shown again.',
    words: 'Words (optional)',
    wordsHint: 'Only events whose title contains one of them. Separate them by commas.',
    connectAction: 'Connect calendar',
    outcomes: {
      added: 'The absence was added.',
      deleted: 'The absence was deleted.',
      connected: 'The calendar was connected.',
      removed: 'The calendar was removed, with its absences.',
    },
    full: `You have as many as possible: ${absence.open} absences that are not over, or ${calendarLimits.perUser} calendars. Delete some first.`,
    busy: 'Too many calendars are being fetched. Try again in a minute.',
    mistakes: {
      starts_at: `Enter when it begins: within the next ${absence.ahead} days.`,
      ends_at: `Enter when it ends: in the future, after its beginning, and at most ${absence.days} days later.`,
      reason: `Enter one line with at most ${limits.reason} characters.`,
      url: 'This calendar cannot be read:',
      words: `Enter at most ${word.count} words with at most ${word.length} characters each.`,
    },
  },
  types,
};

const de: PageTexts = {
  title: 'Benachrichtigungen',
  intro: 'Wählen Sie, was {name} Ihnen schickt und auf welchem Weg.',
  categories: 'Was Sie bekommen',
  category: 'Kategorie',
  required: 'Immer an, weil es notwendig ist',
  notOffered: 'Nicht verfügbar',
  save: 'Speichern',
  saved: 'Ihre Einstellungen wurden gespeichert.',
  allOff: 'Alles ausschalten',
  allOffHint: 'Was immer an ist, bekommen Sie weiterhin.',
  addresses: 'Wohin es geht',
  noAddresses: 'Noch keine Adressen.',
  lastChange: 'Zuletzt geändert am {date} ({source}).',
  sources: {
    page: 'auf dieser Seite',
    'one-click': 'durch Abbestellen in einer Nachricht',
    api: 'von {name}',
    console: 'von {name}',
    import: 'importiert von {name}',
    inbox: 'in Ihrem Posteingang',
  },
  noCategories: 'Es gibt noch nichts zu wählen.',
  unsubscribeTitle: 'Abbestellen',
  unsubscribeQuestion: 'Möchten Sie „{category}“ von {name} nicht mehr über {type} bekommen?',
  unsubscribe: 'Abbestellen',
  unsubscribed: 'Sie bekommen „{category}“ nicht mehr über {type}.',
  stillRequired: '„{category}“ lässt sich nicht ausschalten, weil es notwendig ist.',
  manage: 'Alle Benachrichtigungen einstellen',
  broken: 'Dieser Link funktioniert nicht',
  brokenHint: 'Er ist unvollständig oder wurde ersetzt. Nutzen Sie den Link in einer neueren Nachricht.',
  sample: 'Das ist eine Vorschau',
  sampleHint: 'In einer verschickten Nachricht führt dieser Link zu den Einstellungen des Empfängers.',
  quiet: 'Ruhezeiten',
  quietHint: 'Was nicht eilt, wartet, bis sie enden.',
  quietDefault: 'Wie bei {name} üblich: {hours}',
  quietOwn: 'Eigene Zeiten',
  quietNone: 'Keine Ruhezeiten',
  none: 'keine',
  from: 'Von',
  to: 'Bis',
  days: 'Beginnend am',
  timezone: 'Zeitzone',
  timezoneDefault: 'Wie bei {name} üblich: {zone}',
  quietInvalid: 'Ruhezeiten brauchen einen Anfang und ein Ende, die sich unterscheiden. Nichts wurde gespeichert.',
  reach: 'Wie Alarme Sie erreichen',
  reachHint: 'Nacheinander, bis jemand reagiert. Ohne Zeilen: auf allen Wegen zugleich.',
  reachSets: { important: 'Dringend', normal: 'Nicht dringend' },
  reachBy: 'Weg',
  reachAfter: 'Nach Minuten',
  reachTimes: 'Wie oft',
  reachInvalid:
    'Was mehrmals geschickt wird, braucht Minuten dazwischen, und es gibt höchstens 10 von jeder Art in 12 Stunden. Nichts wurde gespeichert.',
  verifyHint: 'Bestätigen Sie jede Adresse einmal, damit Alarme nicht dorthin gehen, wo Sie sie nicht lesen.',
  verified: 'Bestätigt',
  unverified: 'Nicht bestätigt',
  unreachable: '{name} kann dorthin zurzeit keinen Code schicken.',
  sendCode: 'Code schicken',
  sendAnother: 'Neuen Code schicken',
  code: 'Code',
  codeHint: 'Geben Sie die 6 Ziffern innerhalb von {minutes} Minuten ein.',
  verify: 'Bestätigen',
  codes: {
    sent: 'Der Code ist unterwegs. Geben Sie ihn unten ein.',
    verified: 'Die Adresse ist bestätigt.',
    wrong: 'Das ist nicht der Code, den wir zuletzt geschickt haben.',
    ended: 'Dieser Code gilt nicht mehr. Fordern Sie einen neuen an.',
    limited: 'Es wurden zu viele Codes verschickt. Versuchen Sie es später noch einmal.',
    failed: 'Der Code konnte nicht geschickt werden.',
  },
  absences: {
    title: 'Abwesenheiten',
    hint: 'Sie bleiben in Bereitschaft, auch wenn Sie weg sind: Solche Schichten werden markiert, damit jemand anders sie übernehmen kann. Wer die Pläne sieht, sieht auch Ihre Abwesenheiten mit ihren Gründen.',
    zone: 'Die Zeiten gelten in der Zeitzone {zone}.',
    none: 'Noch keine Abwesenheiten.',
    fromCalendar: 'aus dem Kalender auf {host}',
    delete: 'Löschen',
    collisions: 'In Bereitschaft trotz Abwesenheit',
    collisionsHint: 'Bitten Sie jemanden, zu diesen Zeiten zu übernehmen.',
    more: 'Es gibt weitere.',
    add: 'Abwesenheit eintragen',
    begins: 'Beginn',
    ends: 'Ende',
    reason: 'Grund (freiwillig)',
    addAction: 'Eintragen',
    calendars: 'Kalender mit Abwesenheiten',
    calendarsHint:
      'Termine in diesen Kalendern werden Abwesenheiten. Ohne Wörter sind das ganztägige Termine, die als gebucht gelten, und solche, die Outlook als abwesend kennzeichnet.',
    count: 'Abwesenheiten: {count}',
    onlyWith: 'Nur mit: {words}',
    remove: 'Entfernen',
    connect: 'Kalender verbinden',
    address: 'Adresse des Kalenders',
    addressHint: 'Die geheime Adresse im iCal-Format. Sie wird verschlüsselt gespeichert und nicht mehr angezeigt.',
    words: 'Wörter (freiwillig)',
    wordsHint: 'Nur Termine, deren Titel eines davon enthält. Trennen Sie sie durch Kommas.',
    connectAction: 'Verbinden',
    outcomes: {
      added: 'Die Abwesenheit wurde eingetragen.',
      deleted: 'Die Abwesenheit wurde gelöscht.',
      connected: 'Der Kalender wurde verbunden.',
      removed: 'Der Kalender wurde mit seinen Abwesenheiten entfernt.',
    },
    full: `Mehr geht nicht: Es gibt höchstens ${absence.open} Abwesenheiten, die nicht vorbei sind, und ${calendarLimits.perUser} Kalender. Löschen Sie zuerst etwas.`,
    busy: 'Zurzeit werden zu viele Kalender abgerufen. Versuchen Sie es in einer Minute noch einmal.',
    mistakes: {
      starts_at: `Geben Sie den Beginn an: innerhalb der nächsten ${absence.ahead} Tage.`,
      ends_at: `Geben Sie das Ende an: in der Zukunft, nach dem Beginn und höchstens ${absence.days} Tage später.`,
      reason: `Geben Sie eine Zeile mit höchstens ${limits.reason} Zeichen ein.`,
      url: 'Dieser Kalender lässt sich nicht lesen:',
      words: `Geben Sie höchstens ${word.count} Wörter mit je höchstens ${word.length} Zeichen ein.`,
    },
  },
  types: { ...types, email: 'E-Mail', voice: 'Anruf', inbox: 'Posteingang' },
};

const es: PageTexts = {
  title: 'Preferencias de notificación',
  intro: 'Elige qué te envía {name} y por qué medio.',
  categories: 'Qué recibes',
  category: 'Categoría',
  required: 'Siempre activo, porque es necesario',
  notOffered: 'No disponible',
  save: 'Guardar',
  saved: 'Tus preferencias se han guardado.',
  allOff: 'Desactivar todo',
  allOffHint: 'Seguirás recibiendo lo que está siempre activo.',
  addresses: 'A dónde llega',
  noAddresses: 'Aún no hay direcciones.',
  lastChange: 'Último cambio el {date} ({source}).',
  sources: {
    page: 'en esta página',
    'one-click': 'al cancelar la suscripción en un mensaje',
    api: 'por {name}',
    console: 'por {name}',
    import: 'importado por {name}',
    inbox: 'en tu bandeja de entrada',
  },
  noCategories: 'Aún no hay nada que elegir.',
  unsubscribeTitle: 'Cancelar suscripción',
  unsubscribeQuestion: '¿Quieres dejar de recibir «{category}» de {name} por {type}?',
  unsubscribe: 'Cancelar suscripción',
  unsubscribed: 'Ya no recibirás «{category}» por {type}.',
  stillRequired: '«{category}» no se puede desactivar, porque es necesario.',
  manage: 'Todas las preferencias de notificación',
  broken: 'Este enlace no funciona',
  brokenHint: 'Puede estar incompleto o haber sido sustituido. Usa el enlace de un mensaje más reciente.',
  sample: 'Esto es una vista previa',
  sampleHint: 'En un mensaje enviado, este enlace lleva a las preferencias del destinatario.',
  quiet: 'Horas de silencio',
  quietHint: 'Lo que no es urgente espera hasta que terminen.',
  quietDefault: 'Como en {name}: {hours}',
  quietOwn: 'Mis propias horas',
  quietNone: 'Sin horas de silencio',
  none: 'ninguna',
  from: 'Desde',
  to: 'Hasta',
  days: 'Empiezan el',
  timezone: 'Zona horaria',
  timezoneDefault: 'Como en {name}: {zone}',
  quietInvalid: 'Las horas de silencio necesitan un comienzo y un final distintos. No se ha guardado nada.',
  reach: 'Cómo te llegan las alertas',
  reachHint: 'Una tras otra, hasta que alguien responda. Sin filas: por todos los medios a la vez.',
  reachSets: { important: 'Urgentes', normal: 'No urgentes' },
  reachBy: 'Medio',
  reachAfter: 'Tras minutos',
  reachTimes: 'Veces',
  reachInvalid:
    'Lo que se envía varias veces necesita minutos entre dos mensajes, y hay como máximo 10 de cada tipo en 12 horas. No se ha guardado nada.',
  verifyHint: 'Verifica cada dirección una vez, para que las alertas no lleguen donde no las lees.',
  verified: 'Verificada',
  unverified: 'Sin verificar',
  unreachable: '{name} no puede enviar un código a esta dirección por ahora.',
  sendCode: 'Enviar código',
  sendAnother: 'Enviar otro código',
  code: 'Código',
  codeHint: 'Introduce las 6 cifras antes de {minutes} minutos.',
  verify: 'Verificar',
  codes: {
    sent: 'Te hemos enviado un código. Introdúcelo abajo.',
    verified: 'La dirección está verificada.',
    wrong: 'No es el último código que hemos enviado.',
    ended: 'Este código ya no es válido. Pide otro.',
    limited: 'Se han enviado demasiados códigos. Inténtalo más tarde.',
    failed: 'No se ha podido enviar el código.',
  },
  absences: {
    title: 'Ausencias',
    hint: 'Sigues de guardia aunque estés ausente: esos turnos se marcan, para que otra persona pueda asumirlos. Quienes ven los turnos ven también tus ausencias y sus motivos.',
    zone: 'Las horas son de la zona horaria {zone}.',
    none: 'Aún no hay ausencias.',
    fromCalendar: 'del calendario de {host}',
    delete: 'Eliminar',
    collisions: 'De guardia durante una ausencia',
    collisionsHint: 'Pide a alguien que te sustituya en esas horas.',
    more: 'Hay más.',
    add: 'Añadir una ausencia',
    begins: 'Inicio',
    ends: 'Fin',
    reason: 'Motivo (opcional)',
    addAction: 'Añadir ausencia',
    calendars: 'Calendarios de ausencias',
    calendarsHint:
      'Los eventos de estos calendarios se convierten en ausencias. Sin palabras, son los eventos de todo el día que constan como ocupado y los que Outlook marca como fuera de la oficina.',
    count: 'Ausencias: {count}',
    onlyWith: 'Solo con: {words}',
    remove: 'Quitar',
    connect: 'Conectar un calendario',
    address: 'Dirección del calendario',
    addressHint: 'La dirección secreta en formato iCal. Se guarda cifrada y no se vuelve a mostrar.',
    words: 'Palabras (opcional)',
    wordsHint: 'Solo los eventos cuyo título contiene una de ellas. Sepáralas con comas.',
    connectAction: 'Conectar calendario',
    outcomes: {
      added: 'Se ha añadido la ausencia.',
      deleted: 'Se ha eliminado la ausencia.',
      connected: 'Se ha conectado el calendario.',
      removed: 'Se ha quitado el calendario con sus ausencias.',
    },
    full: `No caben más: hay como máximo ${absence.open} ausencias que no han terminado y ${calendarLimits.perUser} calendarios. Elimina primero alguno.`,
    busy: 'Se están leyendo demasiados calendarios. Inténtalo de nuevo dentro de un minuto.',
    mistakes: {
      starts_at: `Indica el inicio: dentro de los próximos ${absence.ahead} días.`,
      ends_at: `Indica el fin: en el futuro, después del inicio y como máximo ${absence.days} días más tarde.`,
      reason: `Escribe una línea de ${limits.reason} caracteres como máximo.`,
      url: 'No se puede leer este calendario:',
      words: `Escribe como máximo ${word.count} palabras de ${word.length} caracteres cada una.`,
    },
  },
  types: { ...types, email: 'Correo', voice: 'Llamada', webpush: 'Navegador', inbox: 'Bandeja de entrada' },
};

const fr: PageTexts = {
  title: 'Préférences de notification',
  intro: 'Choisissez ce que {name} vous envoie, et comment.',
  categories: 'Ce que vous recevez',
  category: 'Catégorie',
  required: 'Toujours activé, car nécessaire',
  notOffered: 'Non disponible',
  save: 'Enregistrer',
  saved: 'Vos préférences ont été enregistrées.',
  allOff: 'Tout désactiver',
  allOffHint: 'Vous recevrez encore ce qui est toujours activé.',
  addresses: 'Où cela arrive',
  noAddresses: 'Pas encore d’adresse.',
  lastChange: 'Dernière modification le {date} ({source}).',
  sources: {
    page: 'sur cette page',
    'one-click': 'en vous désabonnant dans un message',
    api: 'par {name}',
    console: 'par {name}',
    import: 'importé par {name}',
    inbox: 'dans votre boîte de réception',
  },
  noCategories: 'Il n’y a encore rien à choisir.',
  unsubscribeTitle: 'Se désabonner',
  unsubscribeQuestion: 'Voulez-vous ne plus recevoir « {category} » de {name} par {type} ?',
  unsubscribe: 'Se désabonner',
  unsubscribed: 'Vous ne recevrez plus « {category} » par {type}.',
  stillRequired: '« {category} » ne peut pas être désactivé, car nécessaire.',
  manage: 'Toutes les préférences de notification',
  broken: 'Ce lien ne fonctionne pas',
  brokenHint: 'Il est peut-être incomplet ou a été remplacé. Utilisez le lien d’un message plus récent.',
  sample: 'Ceci est un aperçu',
  sampleHint: 'Dans un message envoyé, ce lien mène aux préférences de son destinataire.',
  quiet: 'Heures calmes',
  quietHint: 'Ce qui n’est pas urgent attend qu’elles se terminent.',
  quietDefault: 'Comme chez {name} : {hours}',
  quietOwn: 'Mes propres heures',
  quietNone: 'Pas d’heures calmes',
  none: 'aucune',
  from: 'De',
  to: 'À',
  days: 'À partir du',
  timezone: 'Fuseau horaire',
  timezoneDefault: 'Comme chez {name} : {zone}',
  quietInvalid: 'Les heures calmes ont besoin d’un début et d’une fin différents. Rien n’a été enregistré.',
  reach: 'Comment les alertes vous parviennent',
  reachHint: 'L’une après l’autre, jusqu’à ce que quelqu’un réponde. Sans ligne : par tous les moyens à la fois.',
  reachSets: { important: 'Urgentes', normal: 'Non urgentes' },
  reachBy: 'Moyen',
  reachAfter: 'Après minutes',
  reachTimes: 'Fois',
  reachInvalid:
    'Ce qui est envoyé plusieurs fois a besoin de minutes entre deux messages, et il y en a au plus 10 de chaque type en 12 heures. Rien n’a été enregistré.',
  verifyHint: 'Vérifiez chaque adresse une fois, pour que les alertes n’arrivent pas là où vous ne les lisez pas.',
  verified: 'Vérifiée',
  unverified: 'Non vérifiée',
  unreachable: '{name} ne peut pas y envoyer de code pour l’instant.',
  sendCode: 'Envoyer un code',
  sendAnother: 'Envoyer un autre code',
  code: 'Code',
  codeHint: 'Saisissez les 6 chiffres dans les {minutes} minutes.',
  verify: 'Vérifier',
  codes: {
    sent: 'Nous vous avons envoyé un code. Saisissez-le ci-dessous.',
    verified: 'L’adresse est vérifiée.',
    wrong: 'Ce n’est pas le dernier code que nous avons envoyé.',
    ended: 'Ce code n’est plus valable. Demandez-en un autre.',
    limited: 'Trop de codes ont été envoyés. Réessayez plus tard.',
    failed: 'Le code n’a pas pu être envoyé.',
  },
  absences: {
    title: 'Absences',
    hint: 'Vous restez d’astreinte pendant une absence : ces astreintes sont signalées, pour que quelqu’un d’autre puisse les prendre. Les personnes qui voient les plannings voient aussi vos absences et leurs motifs.',
    zone: 'Les heures sont celles du fuseau horaire {zone}.',
    none: 'Pas encore d’absence.',
    fromCalendar: 'du calendrier de {host}',
    delete: 'Supprimer',
    collisions: 'D’astreinte pendant une absence',
    collisionsHint: 'Demandez à quelqu’un de vous remplacer à ces moments.',
    more: 'Il y en a d’autres.',
    add: 'Ajouter une absence',
    begins: 'Début',
    ends: 'Fin',
    reason: 'Motif (facultatif)',
    addAction: 'Ajouter l’absence',
    calendars: 'Calendriers d’absences',
    calendarsHint:
      'Les événements de ces calendriers deviennent des absences. Sans mots, ce sont les événements d’une journée entière affichés comme occupés, et ceux qu’Outlook indique comme absent du bureau.',
    count: 'Absences : {count}',
    onlyWith: 'Seulement avec : {words}',
    remove: 'Retirer',
    connect: 'Connecter un calendrier',
    address: 'Adresse du calendrier',
    addressHint: 'L’adresse secrète au format iCal. Elle est enregistrée chiffrée et n’est plus affichée ensuite.',
    words: 'Mots (facultatif)',
    wordsHint: 'Seulement les événements dont le titre contient l’un d’eux. Séparez-les par des virgules.',
    connectAction: 'Connecter le calendrier',
    outcomes: {
      added: 'L’absence a été ajoutée.',
      deleted: 'L’absence a été supprimée.',
      connected: 'Le calendrier a été connecté.',
      removed: 'Le calendrier a été retiré avec ses absences.',
    },
    full: `Il y en a déjà trop : au plus ${absence.open} absences non terminées et ${calendarLimits.perUser} calendriers. Supprimez-en d’abord.`,
    busy: 'Trop de calendriers sont en cours de lecture. Réessayez dans une minute.',
    mistakes: {
      starts_at: `Indiquez le début : dans les ${absence.ahead} prochains jours.`,
      ends_at: `Indiquez la fin : dans le futur, après le début et au plus ${absence.days} jours plus tard.`,
      reason: `Saisissez une ligne de ${limits.reason} caractères au plus.`,
      url: 'Ce calendrier ne peut pas être lu :',
      words: `Saisissez au plus ${word.count} mots de ${word.length} caractères chacun.`,
    },
  },
  types: { ...types, email: 'E-mail', voice: 'Appel', webpush: 'Navigateur', inbox: 'Boîte de réception' },
};

const all: Record<string, PageTexts> = { en, de, es, fr };

/** Returns the recipient's language, else the first supported language of the browser, else English. */
export function chooseLanguage(own: string | null | undefined, accepted: string | undefined): string {
  const tags = [
    own ?? '',
    ...(accepted ?? '')
      .slice(0, 200)
      .split(',')
      .map(part => part.split(';')[0]!.trim()),
  ];
  return tags.map(tag => tag.split('-')[0]!.toLowerCase()).find(language => Object.hasOwn(all, language)) ?? 'en';
}

export function textsIn(language: string): PageTexts {
  return lookUp(all, language) ?? en;
}
