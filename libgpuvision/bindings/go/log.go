// SPDX-License-Identifier: BSD-2-Clause

package gpuvision

// #include <gpuvision/context.h>
import "C"

import "runtime/cgo"

// LogLevel is how much is logged: a level includes those below it.
type LogLevel uint32

// The levels.
const (
	LogError   LogLevel = C.GPV_LOG_LEVEL_ERROR
	LogWarning LogLevel = C.GPV_LOG_LEVEL_WARNING
	LogInfo    LogLevel = C.GPV_LOG_LEVEL_INFO
	LogDebug   LogLevel = C.GPV_LOG_LEVEL_DEBUG
)

// logger takes the lines of one context. It refers to no Context, which could else not be
// collected: handles are reachable.
type logger struct {
	user func(level LogLevel, message string)
	last string // the last error
}

func (l *logger) line(level LogLevel, message string) {
	if level == LogError {
		l.last = message
	}
	if l.user == nil {
		return
	}
	// Neither a panic nor the end of the goroutine may unwind the frames of C below.
	done := make(chan struct{})
	go func() {
		defer close(done)
		defer func() { _ = recover() }()
		l.user(level, message)
	}()
	<-done
}

//export gpvGoLog
func gpvGoLog(user C.uintptr_t, level C.gpv_log_level, message *C.char) {
	cgo.Handle(user).Value().(*logger).line(LogLevel(level), C.GoString(message))
}
