// Functions of the tests, served with the Go SDK of Stateful Functions. They are the same in all
// languages; README.md beside this directory says what each does.
package main

import (
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/apache/flink-statefun/statefun-sdk-go/v3/pkg/statefun"
)

var (
	greeterType = statefun.TypeNameFrom("test/greeter")
	workerType  = statefun.TypeNameFrom("smoke/worker")
	testOut     = statefun.TypeNameFrom("test/out")
	smokeOut    = statefun.TypeNameFrom("smoke/out")
	smokeStates = statefun.TypeNameFrom("smoke/states")
	jsonValue   = statefun.MakeJsonType(statefun.TypeNameFrom("test/json"))
	commandType = statefun.MakeJsonType(statefun.TypeNameFrom("smoke/command"))
)

type function func(ctx statefun.Context, message statefun.Message) error

func (f function) Invoke(ctx statefun.Context, message statefun.Message) error {
	return f(ctx, message)
}

func state(name string, kind statefun.SimpleType) statefun.ValueSpec {
	return statefun.ValueSpec{Name: name, ValueType: kind}
}

func tellAs(ctx statefun.Context, egress statefun.TypeName, value interface{}, kind statefun.SimpleType) {
	ctx.SendEgress(statefun.GenericEgressBuilder{Target: egress, Value: value, ValueType: kind})
}

func tell(ctx statefun.Context, egress statefun.TypeName, text string) {
	tellAs(ctx, egress, text, statefun.StringType)
}

func textOr(exists bool, value interface{}) string {
	if !exists {
		return "None"
	}
	return fmt.Sprint(value)
}

// The greeter counts, and tells the egress.
var (
	greeterSeen = state("seen", statefun.Int32Type)
	greeterLast = state("last", statefun.StringType)
)

func greeter(ctx statefun.Context, message statefun.Message) error {
	var seen int32
	var last string
	ctx.Storage().Get(greeterSeen, &seen)
	before := textOr(ctx.Storage().Get(greeterLast, &last), nil)
	if before != "None" {
		before = last
	}
	caller := "-"
	if ctx.Caller() != nil {
		caller = ctx.Caller().Id
	}
	seen++
	text := message.AsString()
	ctx.Storage().Set(greeterSeen, seen)
	ctx.Storage().Set(greeterLast, text)
	tell(ctx, testOut, fmt.Sprintf("%s %s %d %s %s", ctx.Self().Id, text, seen, before, caller))
	return nil
}

func toGreeter(id string, text string) statefun.MessageBuilder {
	target := statefun.Address{FunctionType: greeterType, Id: id}
	return statefun.MessageBuilder{Target: target, Value: text}
}

func relay(ctx statefun.Context, message statefun.Message) error {
	target, rest, _ := strings.Cut(message.AsString(), " ")
	sent := make(chan struct{})
	go func() { // contexts may be used by other goroutines, until Invoke returns
		ctx.Send(toGreeter(target, rest))
		close(sent)
	}()
	<-sent
	return nil
}

func alarm(ctx statefun.Context, message statefun.Message) error {
	word, text, _ := strings.Cut(message.AsString(), " ")
	token, err := statefun.NewCancellationToken(text)
	if err != nil {
		return err
	}
	if word == "cancel" {
		ctx.CancelDelayedMessage(token)
		return nil
	}
	delay, err := strconv.Atoi(word)
	if err != nil {
		return err
	}
	later := toGreeter(ctx.Self().Id, text)
	ctx.SendAfterWithCancellationToken(time.Duration(delay)*time.Millisecond, token, later)
	return nil
}

// States with a time to live.
var (
	written = statefun.ValueSpec{
		Name:       "written",
		ValueType:  statefun.Int32Type,
		Expiration: statefun.ExpireAfterWrite(10 * time.Second),
	}
	called = statefun.ValueSpec{
		Name:       "called",
		ValueType:  statefun.Int32Type,
		Expiration: statefun.ExpireAfterCall(10 * time.Second),
	}
)

func short(ctx statefun.Context, message statefun.Message) error {
	text := message.AsString()
	var writes, calls int32
	hasWrites, hasCalls := ctx.Storage().Get(written, &writes), ctx.Storage().Get(called, &calls)
	if text == "write" {
		writes, calls, hasWrites, hasCalls = writes+1, calls+1, true, true
		ctx.Storage().Set(written, writes)
		ctx.Storage().Set(called, calls)
	} else if text != "read" {
		delay, value, _ := strings.Cut(text, " ")
		ms, err := strconv.Atoi(delay)
		if err != nil {
			return err
		}
		later := statefun.MessageBuilder{Target: ctx.Self(), Value: value}
		ctx.SendAfter(time.Duration(ms)*time.Millisecond, later)
		return nil
	}
	tell(ctx, testOut, fmt.Sprintf("%s %s %s", text, textOr(hasWrites, writes), textOr(hasCalls, calls)))
	return nil
}

type kind struct {
	spec  statefun.ValueSpec
	value func() interface{}
}

var kinds = []kind{
	{state("bool", statefun.BoolType), func() interface{} { return new(bool) }},
	{state("int", statefun.Int32Type), func() interface{} { return new(int32) }},
	{state("long", statefun.Int64Type), func() interface{} { return new(int64) }},
	{state("float", statefun.Float32Type), func() interface{} { return new(float32) }},
	{state("double", statefun.Float64Type), func() interface{} { return new(float64) }},
	{state("string", statefun.StringType), func() interface{} { return new(string) }},
	{state("json", jsonValue), func() interface{} { return new(interface{}) }},
}

// types keeps a value of each type, and tells the egress the former and the new one.
func types(ctx statefun.Context, message statefun.Message) error {
	for _, one := range kinds {
		if !message.Is(one.spec.ValueType) {
			continue
		}
		value, former := one.value(), one.value()
		if err := message.As(one.spec.ValueType, value); err != nil {
			return err
		}
		if ctx.Storage().Get(one.spec, former) {
			tellAs(ctx, testOut, former, one.spec.ValueType)
		}
		if text, ok := value.(*string); ok && *text == "forget" {
			for _, each := range kinds {
				ctx.Storage().Remove(each.spec)
			}
			continue
		}
		ctx.Storage().Set(one.spec, value)
		tellAs(ctx, testOut, value, one.spec.ValueType)
	}
	return nil
}

// The worker of the smoke test.
type command struct {
	N     *int32 `json:"n,omitempty"`
	Steps []step `json:"steps"`
}

type step struct {
	Do    string `json:"do"`
	By    int64  `json:"by,omitempty"`
	To    string `json:"to,omitempty"`
	After int64  `json:"after,omitempty"`
	Token string `json:"token,omitempty"`
	Ms    int64  `json:"ms,omitempty"`
	Text  string `json:"text,omitempty"`
	Steps []step `json:"steps,omitempty"`
}

var (
	count = state("count", statefun.Int64Type)
	seen  = state("seen", statefun.Int32Type)
	last  = state("last", statefun.Int32Type)
)

func worker(ctx statefun.Context, message statefun.Message) error {
	var cmd command
	if err := message.As(commandType, &cmd); err != nil {
		return err
	}
	var messages, number int32
	ctx.Storage().Get(seen, &messages)
	ctx.Storage().Set(seen, messages+1)
	if cmd.N != nil {
		ctx.Storage().Get(last, &number)
		if *cmd.N != number+1 {
			tell(ctx, smokeOut, fmt.Sprintf("disorder %s %d %d", ctx.Self().Id, number, *cmd.N))
		}
		ctx.Storage().Set(last, *cmd.N)
	}
	return carryOut(ctx, cmd.Steps)
}

func toWorker(id string, steps []step) statefun.MessageBuilder {
	return statefun.MessageBuilder{
		Target:    statefun.Address{FunctionType: workerType, Id: id},
		Value:     command{Steps: steps},
		ValueType: commandType,
	}
}

func carryOut(ctx statefun.Context, steps []step) error {
	for _, one := range steps {
		if err := carryOutOne(ctx, one); err != nil {
			return err
		}
	}
	return nil
}

func carryOutOne(ctx statefun.Context, one step) error {
	switch one.Do {
	case "add":
		var sum int64
		ctx.Storage().Get(count, &sum)
		ctx.Storage().Set(count, sum+one.By)
	case "send":
		ctx.Send(toWorker(one.To, one.Steps))
	case "reply":
		if ctx.Caller() != nil {
			ctx.Send(toWorker(ctx.Caller().Id, one.Steps))
		}
	case "later":
		return sendLater(ctx, one)
	case "cancel":
		token, err := statefun.NewCancellationToken(one.Token)
		if err != nil {
			return err
		}
		ctx.CancelDelayedMessage(token)
	case "wait":
		done := make(chan error)
		go func() {
			time.Sleep(time.Duration(one.Ms) * time.Millisecond)
			done <- carryOut(ctx, one.Steps)
		}()
		return <-done
	case "tell":
		tell(ctx, smokeOut, one.Text)
	case "report":
		var sum int64
		var messages, number int32
		ctx.Storage().Get(count, &sum)
		ctx.Storage().Get(seen, &messages)
		ctx.Storage().Get(last, &number)
		tell(ctx, smokeStates, fmt.Sprintf("%s %d %d %d", ctx.Self().Id, sum, messages, number))
	default:
		return fmt.Errorf("unknown step %q", one.Do)
	}
	return nil
}

func sendLater(ctx statefun.Context, one step) error {
	delay, message := time.Duration(one.After)*time.Millisecond, toWorker(one.To, one.Steps)
	if one.Token == "" {
		ctx.SendAfter(delay, message)
		return nil
	}
	token, err := statefun.NewCancellationToken(one.Token)
	if err != nil {
		return err
	}
	ctx.SendAfterWithCancellationToken(delay, token, message)
	return nil
}

func main() {
	log.SetOutput(io.Discard) // the SDK tells of every registration
	functions := statefun.StatefulFunctionsBuilder()
	bind := func(name string, invoke function, states ...statefun.ValueSpec) {
		spec := statefun.StatefulFunctionSpec{
			FunctionType: statefun.TypeNameFrom(name), States: states, Function: invoke,
		}
		if err := functions.WithSpec(spec); err != nil {
			panic(err)
		}
	}
	bind("test/greeter", greeter, greeterSeen, greeterLast)
	bind("test/relay", relay)
	bind("test/alarm", alarm)
	bind("test/short", short, written, called)
	specs := []statefun.ValueSpec{}
	for _, one := range kinds {
		specs = append(specs, one.spec)
	}
	bind("test/types", types, specs...)
	bind("smoke/worker", worker, count, seen, last)
	port := os.Getenv("PORT")
	if port == "" {
		port = "0"
	}
	listener, err := net.Listen("tcp", "127.0.0.1:"+port)
	if err != nil {
		panic(err)
	}
	fmt.Println(listener.Addr().(*net.TCPAddr).Port)
	panic(http.Serve(listener, functions.AsHandler()))
}
