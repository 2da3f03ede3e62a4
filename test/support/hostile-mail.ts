/** The mail that takes longest to read. */
const part = '--b\r\nContent-Type: text/plain\r\nContent-Transfer-Encoding: quoted-printable\r\n\r\n';
const parts = Array.from({ length: 90 }, () => part + 'user <a@b.test>: 550 5.1.1 =3D\r\n'.repeat(330));
const head = 'From: ada@x.test\r\nSubject: Hello\r\nContent-Type: multipart/mixed; boundary=b\r\n\r\n';

export const hostileMail: string = head + parts.join('');
