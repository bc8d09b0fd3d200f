// A bot on grammY that the test drives as a user. It reads FAKE_URL, FAKE_TOKEN
// and REPORT_CHAT, and stops when its standard input ends.
const { Bot, GrammyError, InlineKeyboard, InputFile } = require("grammy");

const { FAKE_URL, FAKE_TOKEN, REPORT_CHAT } = process.env;
const bot = new Bot(FAKE_TOKEN, { client: { apiRoot: FAKE_URL } });
const report = (text) => bot.api.sendMessage(Number(REPORT_CHAT), text);

bot.use(async (ctx, next) => {
  const stopped = ctx.update.stopped_message_generation;
  if (stopped) return report(`stopped draft ${stopped.draft_id}`);
  return next();
});

bot.command("buttons", (ctx) =>
  ctx.reply("Choose", { reply_markup: new InlineKeyboard().text("Red", "colour:red").text("Blue", "colour:blue") }));

bot.on("callback_query:data", async (ctx) => {
  await ctx.answerCallbackQuery({ text: "Noted" });
  await ctx.editMessageText(`You chose ${ctx.callbackQuery.data}`, { entities: [{ type: "bold", offset: 0, length: 3 }] });
});

bot.command("draft", (ctx) => bot.api.sendMessageDraft(ctx.chat.id, 5, "thinking", { can_stop: true }));

bot.command("flood", async (ctx) => {
  try {
    await ctx.reply("never shown");
  } catch (err) {
    if (!(err instanceof GrammyError)) throw err;
    await report(`flood ${err.error_code} ${err.parameters.retry_after} ${err.description}`);
  }
});

bot.command("twice", async (ctx) => {
  const sent = await ctx.reply("same");
  try {
    await ctx.api.editMessageText(ctx.chat.id, sent.message_id, "same");
  } catch (err) {
    await report(err.description);
  }
});

bot.on("message:document", async (ctx) => {
  const file = await ctx.getFile();
  const response = await fetch(`${FAKE_URL}/file/bot${FAKE_TOKEN}/${file.file_path}`);
  const data = Buffer.from(await response.arrayBuffer()).reverse();
  await ctx.replyWithDocument(new InputFile(data, "reversed.bin"), { caption: ctx.message.caption });
});

bot.on("message:text", async (ctx) => {
  await ctx.replyWithChatAction("typing");
  await ctx.reply(`ok: ${ctx.message.text}`, { reply_parameters: { message_id: ctx.message.message_id } });
});

bot.on("edited_message:text", (ctx) => ctx.reply(`edited: ${ctx.editedMessage.text}`));

bot.catch((err) => {
  console.error(err);
  process.exit(1);
});

async function main() {
  await bot.api.setMyCommands([{ command: "buttons", description: "Show buttons" }]);
  process.stdin.on("end", () => bot.stop()).resume();
  await bot.start({ timeout: 20, onStart: (me) => report(`I am ${me.username}`) });
}

main().catch((err) => {
  console.error(err);
  process.exit(1);
});
