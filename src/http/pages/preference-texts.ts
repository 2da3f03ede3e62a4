/** Texts of the pages for recipients, by language. */
import { lookUp } from '../../core/lookup.ts';

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
  types: Record<string, string>;
}

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
